/** A table of apps, one for each kind of configuration: what each sees is the same under pm2 and, imported, under procman. */
import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../support/free-ports.ts";
import { ecosystemOf, folderOfFiles } from "../support/import-rig.ts";
import { PeerRig, pm2Command, QUICK_END, WRITE_DOWN } from "../support/peer-rig.ts";
import { assertSameImported, countsOf, type PeerRow } from "../support/peer-table.ts";
import { skip } from "../support/skip.ts";

type App = PeerRow & { readonly app: Readonly<Record<string, unknown>> };

/** It runs until pm2 is stopped. `args` stands behind its name. */
function runs(args: string | readonly string[], app: object = {}, row: Partial<PeerRow> = {}): App {
  const { starts = 1 } = row;
  return { signals: row.isEndless === true ? 1 : starts, ...row, starts, app: { args, ...app } };
}

/** It runs after some starts. */
function settles(args: string, starts: number, app: object = {}, row: Partial<PeerRow> = {}): App {
  return { signals: 1, ...row, starts, app: { args, ...app } };
}

/** It isn't restarted after so many starts. */
function ends(args: string, starts: number, app: object = {}): App {
  return { starts, signals: 0, app: { args, ...app } };
}

/** A command line for bash. */
function line(script: string, more: object = {}): App {
  return { starts: 1, signals: 1, app: { script, ...more } };
}

const run = `node ${WRITE_DOWN}`;
const OUTER = { OUTER: "out er", OUT_SECRET: "x" };

function appsOf(folder: string, port: number): Readonly<Record<string, App>> {
  // It ends at once, and a busy machine may take longer than a second for that.
  const quick = { script: "quick.sh", min_uptime: "20s" };
  const none = { interpreter: "none" };
  const output = (fields: object): App => runs("print", { autorestart: false, ...fields });
  return {
    // Words, interpreters, folders.
    words: runs(`--all 'two words' "x y" a='b c' $HOME * x="1"`),
    list: runs(["it's", "a b", "", "$HOME"], { cwd: "sub", node_args: ["--no-warnings"] }),
    folder: runs("x", { cwd: folder, script: `${folder}/write-down.cjs` }),
    flags: runs("x", { node_args: "--no-warnings --max-old-space-size=300" }),
    flags2: runs("x", { interpreter_args: ["--no-warnings"], interpreter: "node" }),
    camel: runs("x", { nodeArgs: "--no-warnings", execMode: "fork", killTimeout: 2_000 }),
    module: runs("x y", { script: "module.mjs" }),
    program: runs([WRITE_DOWN, "program", "x"], { ...none, script: process.execPath }),
    python: runs("x", { script: "tool.py" }),
    shell: runs("'a b'", { script: "tool.sh" }),
    shebang: runs("'a b'", { ...none, script: "bin/tool" }),
    interpreter: runs("'a b'", { script: "plain", interpreter: "bash", interpreter_args: "-e" }),
    path: runs(
      "x",
      { ...none, script: "bin/tool", env: { PATH: `${folder}/bin:/usr/bin:/bin` } },
      { except: ["PATH"] },
    ),
    line: line(`${run} line "two words" && echo done`),
    bash: line(`${run} bash {a,b} $((1 + 1)) "$OUTER"`),
    anyway: line(`${run} anyway "a b"`, none),
    command: { starts: 1, signals: 1, app: { cmd: "write-down.cjs", args: "x" } },
    // Variables.
    texts: runs("x", { env: { TEXT: "a ${b} $c", COUNT: 3, FLAG: true, EMPTY: "", OUTER: "own" } }),
    objects: runs("x", { env: { OBJECT: { a: [1] }, LIST: ["a", "b"], NONE: null } }),
    profile: runs("x", { env: { NODE_ENV: "one" }, env_production: { NODE_ENV: "two", MORE: "x" } }),
    port: runs("x", { port: 4_001, env: { PORT: 4_000 } }),
    filtered: runs("x", { filter_env: true }),
    filtered2: runs("x", { filter_env: ["OUT_"] }, { differs: "`filter_env` with names" }),
    // Instances.
    one: runs("x", { instances: 1 }),
    two: runs("x", { instances: 2, exec_mode: "fork" }, { starts: 2 }),
    web: runs("x", { instances: 2, env: { PORT: port } }, { starts: 2 }),
    numbered: runs("x", { instances: 2, exec_mode: "fork", instance_var: "NUMBER" }, { starts: 2 }),
    counted: runs("x", { instances: 2, exec_mode: "fork", increment_var: "PORT", env: { PORT: 4_100 } }, { starts: 2 }),
    // Restarts.
    crash: ends("3", 16, quick),
    few: ends("3", 4, { ...quick, max_restarts: 4 }),
    single: ends("3", 1, { ...quick, max_restarts: 1 }),
    uptime: ends("exit 3", 3, { max_restarts: 3, min_uptime: 20_000 }),
    never: ends("exit 3", 1, { autorestart: false }),
    success: settles("exit 0 2", 3),
    coded: ends("exit 3", 1, { stop_exit_codes: [3] }),
    coded2: ends("exit 3", 1, { stop_exit_codes: "3" }),
    zero: ends("exit 0", 1, { stop_exit_codes: [0, 4] }),
    again: settles("exit 5 2", 3, { stop_exit_codes: [0, 4] }),
    delayed: settles("exit 3 2", 3, { restart_delay: 700 }, { gapMs: 700 }),
    growing: settles("exit 3 3", 4, { exp_backoff_restart_delay: 100 }),
    slow: { ...ends("exit 1 99 1500", 3, { max_restarts: 2 }), isEndless: true },
    timed: runs("x", { cron_restart: "*/2 * * * * *" }, { starts: 2, isEndless: true }),
    watched: runs("x", { watch: ["watched"] }, { starts: 2, isEndless: true }),
    full: settles("hold 250", 2, { max_memory_restart: "200M" }, { signals: 2 }),
    stopped: { starts: 0, signals: 0, app: { args: "x", autostart: false } },
    // Stops.
    deaf: { ...runs("ignore SIGINT", {}, { killedAfterMs: 1_600 }), signals: 0 },
    patient: { ...runs("ignore SIGINT", { kill_timeout: 3_000 }, { killedAfterMs: 3_000 }), signals: 0 },
    message: runs("x", { shutdown_with_message: true }),
    ready: runs("ready", { wait_ready: true, listen_timeout: 8_000 }),
    tree: runs("child"),
    "tree-child": runs("x"),
    leader: runs("child", { treekill: false }),
    "leader-child": { ...runs("x"), signals: 0, isLeft: true },
    // Files, groups, users.
    files: output({ out_file: "out/files.log", error_file: "out/files.err.log" }),
    both: output({ log_file: "out/both.log", out_file: "/dev/null", error_file: "/dev/null" }),
    merged: {
      ...output({ instances: 2, exec_mode: "fork", merge_logs: true, out_file: "out/m.log", error_file: "out/m.log" }),
      starts: 2,
      signals: 2,
    },
    quiet: output({ out_file: "NULL", error_file: "NULL" }),
    space: runs("x", { namespace: "Back End", vizion: false, time: true }),
    // Only root can start programs of other users, and those can't read all folders.
    ...(process.getuid?.() === 0 &&
      /^\/(usr|opt)\//.test(process.execPath) && {
        user: runs(
          ["write-down.cjs", "user"],
          { ...none, script: process.execPath, uid: "nobody" },
          { except: ["USER", "LOGNAME", "SHELL"] },
        ),
      }),
    ...(process.platform === "linux" && {
      limits: runs("x", { script: "probe.sh" }, { differs: "with pm2 it is a socket" }),
    }),
  };
}

const PROBE = `read -r pid comm state parent group session rest < /proc/$$/stat
kinds=$(for fd in 0 1 2; do stat -Lc %F /proc/$$/fd/$fd; done)
exec ${run} "$1" "$(ulimit -Sn)" "$(nice)" "$(grep -E 'SigBlk|SigIgn' /proc/$$/status)" "$((group == pid)) $((session == pid))" "$kinds"
`;

function files(): Readonly<Record<string, string>> {
  const tool = `exec ${run} "$@"\n`;
  return {
    "sub/x": "",
    "watched/a.txt": "",
    "module.mjs": `import { createRequire } from "node:module";\ncreateRequire(import.meta.url)(${JSON.stringify(WRITE_DOWN)});\n`,
    "tool.sh": tool,
    plain: tool,
    "bin/tool": `#!/bin/sh\n${tool}`,
    "tool.py": `import os, sys\nos.execvp("node", ["node", ${JSON.stringify(WRITE_DOWN)}] + sys.argv[1:])\n`,
    "probe.sh": PROBE,
    "quick.sh": QUICK_END,
  };
}

/** As pm2 has it: the name of the app, and its arguments behind that of the program. */
function written(name: string, app: Readonly<Record<string, unknown>>): object {
  const { args, script = WRITE_DOWN, cmd, ...others } = app;
  const given =
    typeof args === "string"
      ? `${name} ${args}`
      : args === undefined
        ? undefined
        : [name, ...(args as readonly string[])];
  const isRaw = Array.isArray(args) && script === process.execPath;
  return { name, ...(cmd === undefined ? { script } : { cmd }), args: isRaw ? args : given, ...others };
}

test("pm2: arguments, environment, folder, user, instances, restarts, stops and files of each kind of app", async (context) => {
  const pm2 = pm2Command();
  if (pm2 === undefined) return skip(context, "pm2 can't be installed");
  const rig: PeerRig = new PeerRig(
    folderOfFiles(context, files(), async () => {
      await rig.command("pm2", [pm2, "kill"], own);
      await rig.end();
    }),
    { watched: "watched/a.txt" },
  );
  const own = { PM2_HOME: `${rig.folder}/pm2-home`, PM2_WORKER_INTERVAL: "1000", ...OUTER };
  const rows = appsOf(rig.folder, await freePort());
  assert.ok(Object.keys(rows).length >= 25);
  chmodSync(rig.folder, 0o755);
  chmodSync(join(rig.folder, "bin/tool"), 0o755);
  copyFileSync(WRITE_DOWN, join(rig.folder, "write-down.cjs"));
  for (const folder of ["pm2", "procman", "out"]) {
    mkdirSync(join(rig.folder, folder));
    chmodSync(join(rig.folder, folder), 0o777);
  }
  const apps = Object.entries(rows)
    .filter(([name]) => !name.endsWith("-child"))
    .map(([name, { app }]) => written(name, app));
  writeFileSync(join(rig.folder, "ecosystem.config.js"), ecosystemOf(apps));
  const [starts, signals] = [countsOf(rows, "starts"), countsOf(rows, "signals")];
  await rig.command("pm2", [pm2, "start", "ecosystem.config.js"], own);
  await rig.wait("pm2", starts);
  await rig.command("pm2", [pm2, "stop", "all"], own);
  await rig.wait("pm2", signals, true);
  await rig.command("pm2", [pm2, "kill"], own);
  // Two instances may write to one file.
  const partOf = (text: string): readonly string[] => text.split("\n").toSorted();
  await assertSameImported(rig, { peer: "pm2", file: "ecosystem.config.js", rows, env: own, partOf });
});
