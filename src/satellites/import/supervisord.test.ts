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
      restartDelayMs: 1_000,
      restartLimit: 3,
      restartResetMs: 5_000,
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
      restartDelayMs: 1_000,
      restartLimit: 3,
      restartResetMs: 1_000,
      terminateTimeout: 10,
      killMode: "leader",
      groups: ["back"],
    },
  ]);
  assert.deepEqual(notes, [
    'priority: supervisord starts mail, then plain, without waiting for them, and stops them one after another in the opposite order; here all start and stop together: "dependsOn": [{ "id": …, "condition": "started" }] keeps the order, docs/guide/processes.md',
  ]);
});

test("a note has the order of priorities, of groups and in them; without one there is no note", async (context) => {
  const program = (name: string, priority = ""): string => `[program:${name}]\ncommand=x\n${priority}\n`;
  const programs = [program("a", "priority=5"), program("b", "priority=1"), program("c"), program("d", "priority=-1")];
  const noted = async (...more: readonly string[]): Promise<string> =>
    (await importOf(context, { "supervisord.conf": [...programs, ...more].join("") })).notes.join("\n");
  assert.match(await noted(), /^priority: supervisord starts d, then b, then a, then c, without waiting/);
  const group = "[group:g]\nprograms=a,b\npriority=1000\n";
  assert.match(
    await noted(group, ...["e", "f", "h"].map((name) => program(name))),
    /starts d, then 4 programs, then b, then a, /,
  );
  const { notes } = await importOf(context, { "supervisord.conf": program("c") + program("e", "priority=999") });
  assert.deepEqual(notes, []);
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
      // The shell becomes the program, which gets the signals itself.
      [
        'exec env N="$((PROCMAN_CLUSTER_INSTANCE+5))" serve "n$(printf %02d $((PROCMAN_CLUSTER_INSTANCE+5)))"',
        { instances: 3 },
      ],
    ],
  );
  assert.deepEqual(
    config.processes.map(({ env }) => env),
    [undefined, undefined, undefined, undefined],
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
  assert.equal(config.processes[0]?.logger, undefined);
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
    /supervisord\.conf:1:1[\s\S]*before the first/,
  );
});

const importedProgram = async (
  context: Parameters<typeof importOf>[0],
  lines: string,
  before = "",
): Promise<Awaited<ReturnType<typeof importOf>> & { readonly program: Readonly<Record<string, unknown>> }> => {
  const result = await importOf(context, { "supervisord.conf": `${before}[program:web]\ncommand=serve\n${lines}\n` });
  return { ...result, program: result.config.processes[0] ?? {} };
};

/** Sets variables for a test. */
function withVariables(
  context: { readonly after: (call: () => void) => void },
  variables: Readonly<Record<string, string>>,
): void {
  Object.assign(process.env, variables);
  context.after(() => {
    for (const name of Object.keys(variables)) delete process.env[name];
  });
}

test("restarts and stops that a program says nothing about are those of supervisord", async (context) => {
  const { program } = await importedProgram(context, "");
  assert.deepEqual(
    [program.restart, program.restartLimit, program.restartDelayMs, program.restartResetMs, program.terminateTimeout],
    ["error", 3, 1_000, 1_000, 10],
  );
  const patient = await importedProgram(context, "startretries=10\nstartsecs=0");
  assert.deepEqual([patient.program.restartLimit, patient.program.restartResetMs], [10, 0]);
  assert.match(patient.notes.join(), /web startretries: supervisord waits longer before each try, 55 s together/);
  const never = await importedProgram(context, "autorestart=false");
  assert.deepEqual([never.program.restart, never.program.restartLimit], ["never", undefined]);
  assert.match(never.notes.join(), /web autorestart: supervisord starts it again up to 3 times if it ends within 1 s/);
});

test("a program of another user keeps supervisord's environment; a user that is missing here stays", async (context) => {
  const { program, notes } = await importedProgram(context, "user=no-such-user-here");
  assert.deepEqual([program.user, program.inheritEnv], ["no-such-user-here", true]);
  assert.match(notes.join("\n"), /web user: HOME, USER and LOGNAME are those of the user/);
  assert.match(notes.join("\n"), /web user: stays, and `procman run` refuses it until .* no such user/);
});

test("PATH of the environment replaces that of supervisord, so its folders come first", async (context) => {
  const own = await importedProgram(context, 'environment=PATH="%(here)s/venv/bin:/usr/bin",A=1');
  assert.deepEqual([own.program.env, own.program.pathFirst], [{ A: "1" }, [`${own.folder}/venv/bin`, "/usr/bin"]]);
  const around = await importedProgram(context, 'environment=PATH="/a:%(ENV_PATH)s:/b"');
  assert.deepEqual([around.program.pathFirst, around.program.path, around.program.env], [["/a"], ["/b"], undefined]);
  const common = await importedProgram(context, "", '[supervisord]\nenvironment=PATH="/c",B="2"\n');
  assert.deepEqual([common.program.pathFirst, common.config.env], [["/c"], { B: "2" }]);
});

test("paths of log files get variables as they are now, and say so; numbers of instances that change are said, too", async (context) => {
  withVariables(context, { PROCMAN_TEST_LOGS: "/var/log/shop" });
  const { program, notes } = await importedProgram(
    context,
    [
      "environment=NAME=own",
      "numprocs=2",
      "process_name=%(program_name)s_%(process_num)d",
      "stdout_logfile=%(ENV_PROCMAN_TEST_LOGS)s/%(ENV_NAME)s_%(process_num)02d.log",
      "stderr_logfile=%(ENV_PROCMAN_TEST_MISSING)s/x.log",
    ].join("\n"),
  );
  assert.deepEqual(program.logger, {
    stdout: "/var/log/shop/own_{instance}.log",
    rotate: { size: 52_428_800, total: 524_288_000 },
  });
  const all = notes.join("\n");
  assert.match(all, /web stdout_logfile: PROCMAN_TEST_LOGS has the value of this moment/);
  assert.match(all, /web stdout_logfile: the files are numbered from 1: \/var\/log\/shop\/own_1\.log/);
  assert.match(all, /web stderr_logfile: is left out: PROCMAN_TEST_MISSING is not set here/);
});

test("standard error without a file goes to that of standard output, which is said", async (context) => {
  const { notes } = await importedProgram(context, "stdout_logfile=a.log");
  assert.match(notes.join(), /web stderr_logfile: standard error goes to the file of standard output, too/);
  assert.deepEqual((await importedProgram(context, "stdout_logfile=a.log\nredirect_stderr=true")).notes, []);
});

test("a number from a variable is a reference to it; one that isn't set is said", async (context) => {
  withVariables(context, { PROCMAN_TEST_WORKERS: "3", PROCMAN_TEST_USER: "root", PROCMAN_TEST_SECONDS: "4" });
  const name = "process_name=%(program_name)s_%(process_num)d\n";
  const { program, notes } = await importedProgram(
    context,
    `${name}numprocs=%(ENV_PROCMAN_TEST_WORKERS)s\nuser=%(ENV_PROCMAN_TEST_USER)s\nstartsecs=%(ENV_PROCMAN_TEST_SECONDS)s`,
  );
  assert.deepEqual(program.cluster, { instances: "${PROCMAN_TEST_WORKERS}" });
  assert.deepEqual([program.user, program.minUptimeMs], ["root", 4_000]);
  assert.match(notes.join("\n"), /web user: PROCMAN_TEST_USER has the value of this moment/);
  const missing = await importedProgram(context, `${name}numprocs=%(ENV_PROCMAN_TEST_MISSING)s`);
  assert.equal(missing.program.cluster, undefined);
  assert.match(
    missing.notes.join(),
    /web numprocs: .*PROCMAN_TEST_MISSING\)s is not set here, so there is one instance/,
  );
  const common = await importedProgram(
    context,
    `${name}numprocs=%(ENV_COUNT)s\nenvironment=OTHER="%(ENV_COUNT)s %(ENV_PROCMAN_TEST_USER)s"`,
    "[supervisord]\nenvironment=COUNT=2\n",
  );
  assert.deepEqual(common.program.cluster, { instances: 2 });
  assert.deepEqual(common.program.env, { OTHER: "2 ${PROCMAN_TEST_USER}" });
});

test("output to /dev/stdout is printed as the program wrote it, without the id in front", async (context) => {
  const { program, config } = await importedProgram(
    context,
    "stdout_logfile=/dev/stdout\nstdout_logfile_maxbytes=0\nstderr_logfile=/dev/stderr\nstderr_logfile_maxbytes=0",
  );
  assert.deepEqual([program.logger, config.logger], [{ console: true }, { prefix: false }]);
});

test("values of environment lose all quotes at both ends, and keep backslashes, as in supervisord", async (context) => {
  const { program, notes } = await importedProgram(
    context,
    `environment=A="it's",B='say "hi"',C="a\\b \\\\c",D="",E="1,2",F=plain/x:1,G=5%%`,
  );
  assert.deepEqual(program.env, { A: "it's", B: 'say "hi', C: "a\\b \\\\c", D: "", E: "1,2", F: "plain/x:1", G: "5" });
  assert.deepEqual(notes, []);
  const torn = await importedProgram(context, 'environment=A="1",B="2');
  assert.deepEqual(torn.program.env, { A: "1" });
  assert.match(torn.notes.join(), /web environment: can't be read from "B=/);
});

test("the folder of supervisord is that of its programs, if it goes to the background", async (context) => {
  const lines = "stdout_logfile=x.log\nredirect_stderr=true";
  const { program } = await importedProgram(context, lines, "[supervisord]\ndirectory=run\n");
  assert.deepEqual([program.cwd, (program.logger as { readonly stdout: string }).stdout], ["run", "run/x.log"]);
  const own = await importedProgram(context, "directory=/srv", "[supervisord]\ndirectory=%(here)s/run\n");
  assert.equal(own.program.cwd, "/srv");
  const foreground = await importedProgram(context, "", "[supervisord]\ndirectory=run\nnodaemon=true\n");
  assert.deepEqual([foreground.program.cwd, foreground.notes], [undefined, []]);
});

test("a backslash in double quotes is that of Python: in front of a dollar sign it stays", async (context) => {
  const { config } = await importOf(context, {
    "supervisord.conf": '[program:web]\ncommand=serve "\\$A" "\\\\" "\\"" \\$B\n',
  });
  assert.equal(config.processes[0]?.cmd, `serve '\\$A' '\\' '"' '$B'`);
});

test("a variable outside of quotes is split into words, and a line break in quotes stays", async (context) => {
  const { config } = await importOf(context, {
    "supervisord.conf":
      '[program:web]\ncommand=serve %(ENV_ARGS)s "%(ENV_ARGS)s" --x=%(ENV_X)s\n "two\n lines" n%(process_num)d\nnumprocs=2\n',
  });
  assert.equal(
    config.processes[0]?.cmd,
    `serve \${ARGS} "\${ARGS}" --x=\${X} 'two\nlines' "n$PROCMAN_CLUSTER_INSTANCE"`,
  );
});

test('"directory" may use the variables that the same program sets', async (context) => {
  const { program } = await importedProgram(context, 'environment=PLACE="srv"\ndirectory=/%(ENV_PLACE)s/x');
  assert.equal(program.cwd, "/srv/x");
});

test("a signal may be a number", async (context) => {
  assert.equal((await importedProgram(context, "stopsignal=2")).program.stopSignal, "SIGINT");
  assert.equal((await importedProgram(context, "stopsignal=SIGQUIT")).program.stopSignal, "SIGQUIT");
  assert.equal((await importedProgram(context, "stopsignal=9")).program.terminateTimeout, 0);
});

test("the group and the umask of all programs count in each, and the group is that of its expressions", async (context) => {
  const text =
    "[group:back]\nprograms=web,mail\n[supervisord]\numask=027\n[program:web]\ncommand=serve %(group_name)s\n";
  const { config, notes } = await importOf(context, { "supervisord.conf": text });
  const [web] = config.processes;
  assert.deepEqual([web?.cmd, web?.groups, web?.umask, notes], ["serve back", ["back"], "027", []]);
});
