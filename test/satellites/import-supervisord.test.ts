/** A table of programs, one for each kind of configuration: what each sees is the same under supervisord and, imported, under procman. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freeRange } from "../support/free-ports.ts";
import { folderOfFiles } from "../support/import-rig.ts";
import { PeerRig, QUICK_END, WRITE_DOWN } from "../support/peer-rig.ts";
import { assertSameImported, countsOf, type PeerRow } from "../support/peer-table.ts";
import { isMissing } from "../support/system-programs.ts";

type Program = PeerRow & { readonly command: string; readonly lines: readonly string[] };

const run = `node ${WRITE_DOWN}`;

/** It runs until supervisord ends. `args` stand behind its name. */
function runs(args: string, ...lines: readonly string[]): Program {
  return { starts: 1, signals: 1, command: `${run} NAME ${args}`, lines };
}

function many(count: number, args: string, ...lines: readonly string[]): Program {
  return { ...runs(args, "process_name=%(program_name)s_%(process_num)d", ...lines), starts: count, signals: count };
}

/** It runs after some starts. */
function settles(args: string, starts: number, ...lines: readonly string[]): Program {
  return { ...runs(args, ...lines), starts };
}

/** It isn't restarted after so many starts. */
function ends(args: string, starts: number, ...lines: readonly string[]): Program {
  return { ...runs(args, ...lines), starts, signals: 0 };
}

/** It ends at once, and a busy machine may take longer than a second for that. */
function fails(code: number, starts: number, ...lines: readonly string[]): Program {
  return { ...ends("", starts, "startsecs=20", ...lines), command: `sh quick.sh NAME ${code}` };
}

const OUTER = { OUTER: "out er", WORKERS: "3", STOP: "QUIT", LOGS: "out" };
const GROUPED = "process_name=%(program_name)s";

function programsOf(port: number): Readonly<Record<string, Program>> {
  const [hundreds, first] = [Math.floor(port / 100), port % 100];
  return {
    // Words and expressions.
    words: runs(`--cost $5 "two words" 'a b' *.js 100%% a\\ b "it's" ; a comment`),
    hash: runs(`a#b c;d # a comment`),
    lines: runs(`one\n  "two\n  words" three`),
    names: runs("%(program_name)s-%(group_name)s %(host_node_name)s %(process_num)02d/%(numprocs)d"),
    place: runs("%(here)s/x"),
    outer: runs('%(ENV_OUTER)s "%(ENV_OUTER)s" $OUTER %(ENV_COMMON)s'),
    own: runs('%(ENV_OWN)s "%(ENV_TWO)s"', 'environment=OWN="a",TWO="%(ENV_OUTER)s b"'),
    keys: { ...runs("x"), lines: ["Umask : 077", "STOPSIGNAL: INT"] },
    signs: runs("{a,b} ${HOME} $(echo x) `echo y` ~ > | && !x"),
    empty: runs(`"" '' x`),
    // Variables and folders.
    env: runs("x", `environment=A="1,2",B=%(program_name)s,C='%(ENV_OUTER)s $D \${E}',\n  D="a=b",E="",F="100%%"`),
    quotes: runs("x", `environment=A="it's",B='say "hi"',C="a\\\\b",D="semi;colon",COMMON="own"`),
    comma: runs("x", `environment=A="1",`),
    path: {
      ...runs(""),
      except: ["PATH"],
      command: "mine NAME x",
      lines: ['environment=PATH="%(here)s/mine:/usr/bin:/bin"'],
    },
    folder: runs("x", "directory=sub", "umask=027"),
    folder2: runs("x", "directory=%(here)s/sub/%(program_name)s"),
    folder3: runs("x", "directory=/%(ENV_TEMP)s", 'environment=TEMP="tmp"'),
    // Instances and groups.
    many: many(2, "n%(process_num)02d %(process_num)d of-%(numprocs)d", "numprocs=2", "numprocs_start=3"),
    numbers: many(2, "x", "numprocs=2", 'environment=N="%(process_num)03d",M="%(process_num)d"', "stopsignal=2"),
    counted: many(3, "x", "numprocs=%(ENV_WORKERS)s"),
    ports: many(
      2,
      `--port=${hundreds}%(process_num)02d`,
      "numprocs=2",
      `numprocs_start=${first}`,
      `environment=PORT="${hundreds}%(process_num)02d"`,
    ),
    grouped: runs("%(group_name)s", 'environment=GROUP="%(group_name)s"', GROUPED),
    // Restarts.
    crash: fails(3, 4),
    retried: fails(3, 2, "startretries=1"),
    once: ends("exit 0", 1, "startsecs=0"),
    refused: fails(3, 1, "startretries=0"),
    again: settles("exit 3 2", 3, "startsecs=0", "stopsignal=INT"),
    coded: ends("exit 3", 1, "startsecs=0", "exitcodes=0,3"),
    always: settles("exit 0 2", 3, "startsecs=0", "autorestart=true"),
    always2: fails(0, 3, "startretries=2", "autorestart=true"),
    never: ends("exit 3", 1, "startsecs=0", "autorestart=false"),
    late: { ...ends("exit 3 99 1500", 2, "autorestart=TRUE"), isEndless: true },
    quick: { ...fails(0, 1), differs: "ends with an expected code within `startsecs`" },
    manual: { ...ends("x", 0, "autostart=false") },
    // Stops.
    hangup: runs("x", "stopsignal=HUP"),
    named: runs("x", "stopsignal=SIGUSR2"),
    given: runs("x", "stopsignal=%(ENV_STOP)s"),
    deaf: { ...runs("ignore SIGTERM", "stopwaitsecs=2"), signals: 0, killedAfterMs: 2_000 },
    alone: runs("child"),
    "alone-child": { ...runs("x"), signals: 0, isLeft: true },
    tree: runs("child", "stopasgroup=true"),
    "tree-child": runs("x"),
    shell: {
      ...runs("", "stopasgroup=true", "stopsignal=QUIT"),
      command: `sh -c '${run} NAME "$OUTER"; exit 0'`,
    },
    // Output, users and what a program inherits.
    files: runs("print", "stdout_logfile=out/%(program_name)s.log", "stderr_logfile=%(here)s/%(ENV_LOGS)s/e.log"),
    both: runs("print", "stdout_logfile=out/both.log", "redirect_stderr=true", "stdout_logfile_maxbytes=0"),
    quiet: runs("print", "stdout_logfile=NONE", "stderr_logfile=/dev/null"),
    device: { ...runs(""), command: `sh -c 'echo x > /dev/stdout && exec ${run} NAME'` },
    ...(process.platform === "linux" && {
      probe: { ...runs(""), command: "sh probe.sh NAME", differs: "programs ignore SIGPIPE" },
    }),
    included: { ...runs(""), command: "tool NAME %(here)s" },
    // Only root can start programs of other users, and those can't read all folders.
    ...(process.getuid?.() === 0 &&
      /^\/(usr|opt)\//.test(process.execPath) && {
        user: {
          ...runs("", "user=nobody"),
          command: "node %(here)s/write-down.cjs NAME",
          except: ["HOME", "USER", "LOGNAME", "SHELL"],
        },
      }),
  };
}

const PROBE = `read -r pid comm state parent group session rest < /proc/$$/stat
kinds=$(for fd in 0 1 2; do stat -Lc %F /proc/$$/fd/$fd; done)
exec ${run} "$1" "$(ulimit -Sn)" "$(nice)" "$(grep -E 'SigBlk|SigIgn' /proc/$$/status)" "$((group == pid)) $((session == pid))" "$kinds"
`;
const DAEMON = `[supervisord]
logfile=%(here)s/supervisord.log
pidfile=%(here)s/supervisord.pid
childlogdir=%(here)s
environment=COMMON="c d"
[unix_http_server]
file=%(here)s/s.sock
[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://%(here)s/s.sock
[include]
files = conf.d/*.conf %(ENV_LOGS)s/nothing.ini
[group:back]
programs=grouped
`;

function textOf(programs: readonly (readonly [string, Program])[]): string {
  return programs
    .filter(([name]) => !name.endsWith("-child"))
    .map(([name, { command, lines }]) =>
      [`[program:${name}]`, `command=${command.replaceAll("NAME", name)}`, ...lines, ""].join("\n"),
    )
    .join("\n");
}

test("supervisord: words, expressions, environment, folder, user, umask, instances, restarts, stops and files of each kind of program", async (context) => {
  if (isMissing(context, "supervisord")) return;
  const port = await freeRange(2);
  // Both in the same hundred.
  const rows = programsOf(port % 100 === 99 ? port - 1 : port);
  assert.ok(Object.keys(rows).length >= 25);
  const { included, ...others } = rows;
  const tool = `#!/bin/sh\nexec ${process.execPath} ${WRITE_DOWN} "$@"\n`;
  const files = {
    "supervisord.conf": `${DAEMON}${textOf(Object.entries(others))}`,
    "conf.d/a.conf": textOf([["included", included as Program]]),
    "bin/tool": tool,
    "mine/mine": tool,
    "probe.sh": PROBE,
    "quick.sh": QUICK_END,
    "sub/folder2/x": "",
  };
  const rig: PeerRig = new PeerRig(folderOfFiles(context, files, () => rig.end()));
  chmodSync(rig.folder, 0o755);
  for (const file of ["bin/tool", "mine/mine"]) chmodSync(join(rig.folder, file), 0o755);
  copyFileSync(WRITE_DOWN, join(rig.folder, "write-down.cjs"));
  for (const folder of ["supervisord", "procman", "out"]) {
    mkdirSync(join(rig.folder, folder));
    chmodSync(join(rig.folder, folder), 0o777);
  }
  const outer = { ...OUTER, PATH: `${rig.folder}/bin:${process.env.PATH}` };
  const control = (...args: readonly string[]): Promise<string> =>
    rig.command("supervisord", ["supervisorctl", "-c", "supervisord.conf", ...args], outer);
  await rig.command("supervisord", ["supervisord", "-c", "supervisord.conf"], outer);
  const [starts, signals] = [countsOf(rows, "starts"), countsOf(rows, "signals")];
  try {
    await rig.wait("supervisord", starts);
  } finally {
    await control("shutdown");
  }
  await rig.wait("supervisord", signals, true);
  await assertSameImported(rig, { peer: "supervisord", file: "supervisord.conf", rows, env: outer });
});
