/** Programs of supervisord as processes of procman. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";

test("each field of a program with an equal is carried, with supervisord's defaults", async (context) => {
  const text = `
[supervisord]
logfile=/var/log/x.log
environment=COMMON="1"

[program:mail]
command=node mail.js --name "two words" --cost $5 ; a comment
directory=apps/mail
autorestart=unexpected
exitcodes=0,3
startsecs=5
startretries=3
stopsignal=INT
stopwaitsecs=7
stopasgroup=true
environment=MODE="fast, really",
  PATH_TO=%(here)s/x,HOST='%(host_node_name)s',INHERITED="%(ENV_HOME)s/y"
umask=22
stdout_logfile=logs/%(program_name)s.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=10
redirect_stderr=true
priority=1

[program:plain]
command=/bin/cat

[group:back]
programs=mail,plain
`;
  const { config, notes, folder } = await importOf(context, { "supervisord.conf": text });
  assert.deepEqual(config.env, { COMMON: "1" });
  assert.deepEqual(config.processes, [
    {
      id: "mail",
      cmd: "node mail.js --name 'two words' --cost '$5'",
      cwd: "apps/mail",
      autostart: true,
      stdin: true,
      restart: "error",
      successExitCodes: [3],
      minUptimeMs: 5_000,
      restartLimit: 3,
      stopSignal: "SIGINT",
      terminateTimeout: 7,
      env: { MODE: "fast, really", PATH_TO: `${folder}/x`, HOST: hostname(), INHERITED: "${HOME}/y" },
      umask: "022",
      logger: { stdout: "logs/mail.log", rotate: { size: 52_428_800, total: 524_288_000 } },
      groups: ["back"],
    },
    {
      id: "plain",
      cmd: "/bin/cat",
      autostart: true,
      stdin: true,
      restart: "error",
      killMode: "leader",
      groups: ["back"],
    },
  ]);
  assert.deepEqual(notes, [
    'mail priority: processes start together; if one must wait for others: "dependsOn", docs/guide/processes.md',
  ]);
});

test("process_num is the port, the number of the instance, or computed by the shell", async (context) => {
  const program = (name: string, command: string, more = ""): string =>
    `[program:${name}]\ncommand=${command}\nnumprocs=3\n${more}\n`;
  const text = [
    program("a", "serve --port 80%(process_num)02d"),
    program("b", "serve --number %(process_num)d", "numprocs_start=1"),
    program("c", "serve --number %(process_num)d --all"),
    program("d", "serve n%(process_num)02d", "numprocs_start=5\nenvironment=N=%(process_num)d"),
  ].join("");
  const { config } = await importOf(context, { "supervisord.conf": text });
  assert.deepEqual(
    config.processes.map(({ cmd, cluster }) => [cmd, cluster]),
    [
      ["serve --port {port}", { instances: 3, startPort: 8000, portVariable: "PROCMAN_CLUSTER_PORT" }],
      ["serve --number {instance}", { instances: 3 }],
      ['serve --number "$PROCMAN_CLUSTER_INSTANCE" --all', { instances: 3 }],
      ['serve "n$(printf %02d $((PROCMAN_CLUSTER_INSTANCE+5)))"', { instances: 3 }],
    ],
  );
});

test("included files are read, by patterns from the folder of the file; one that finds nothing is said", async (context) => {
  const files = {
    "etc/supervisord.conf": "[include]\nfiles = conf.d/*.ini nothing/*.conf\n",
    "etc/conf.d/a.ini": "[program:a]\ncommand=true\n",
    "etc/conf.d/b.ini": "[program:b]\ncommand=true\n",
  };
  const { config, notes } = await importOf(context, files);
  assert.deepEqual(
    config.processes.map(({ id }) => id),
    ["a", "b"],
  );
  assert.deepEqual(notes, ["[include]: nothing/*.conf finds no file"]);
});

test("sections and values without an equal say what to do; a program without a command is left out", async (context) => {
  const text = `[program:a]
command=cat "unclosed
[program:b]
autostart=maybe
[program:c]
command=true
stdout_logfile=syslog
stdout_logfile_maxbytes=0
stopsignal=KILL
colour=red
[eventlistener:x]
command=y
[programm:z]
command=y
`;
  const { notes, dropped, config } = await importOf(context, { "supervisord.conf": text });
  assert.deepEqual(dropped, ["a", "b"]);
  assert.deepEqual(config.processes[0]?.logger, { rotate: false });
  const all = notes.join("\n");
  for (const part of [
    /\[eventlistener:x\]: a plugin/,
    /\[programm:z\]: supervisord has no such section/,
    /a command: its " is never closed/,
    /b autostart: is left out: found "maybe", expected true or false/,
    /c stdout_logfile: the plugin procman\/logship/,
    /c stopsignal: KILL: it gets SIGTERM, and SIGKILL at once/,
    /c colour: supervisord has no such field/,
  ])
    assert.match(all, part);
});

test("a line that is none of supervisord's is an error with its place", async (context) => {
  await assert.rejects(importOf(context, { "supervisord.conf": "[program:a]\ncommand=true\nnonsense\n" }), {
    code: "configuration-invalid",
    message: /supervisord\.conf:3:1\n {2}3 \| nonsense\n.*\^[\s\S]*expected \[section\], key=value/,
  });
  await assert.rejects(
    importOf(context, { "supervisord.conf": "command=true\n[program:a]\n" }),
    /supervisord\.conf:1:1[\s\S]*in front of the first/,
  );
});
