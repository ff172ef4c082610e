/** `procman exec`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ExecRecord } from "../../src/core/contract/execution.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import { otherUser } from "../support/other-user.ts";
import {
  cleanEnvironment,
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
} from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

/** A folder whose procman runs in the background. */
async function running(
  context: TestContext,
  processes: readonly ProcessConfig[],
  config: object = {},
): Promise<string> {
  const { folder } = homeOf(context, processes, config);
  const { code, err } = await procman(folder, ["run", "--detach"]);
  assert.equal(code, 0, err);
  return folder;
}

/** `procman exec` under way, with what its command has written. */
class Execution {
  readonly child: ChildProcess;
  /** Its exit code. */
  readonly code: Promise<number | null>;
  out = "";
  err = "";

  constructor(folder: string, args: readonly string[]) {
    this.child = spawn(process.execPath, [BIN, "exec", ...args], {
      cwd: folder,
      env: cleanEnvironment(),
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.code = new Promise((resolve) => this.child.once("close", resolve));
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
  }

  /** The pid that the command has printed. */
  pid(): Promise<number> {
    return eventually(() => Number(/^(\d+)\n/m.exec(this.out)?.[1] ?? 0) || undefined);
  }
}

/** Prints its pid, and says what it gets; SIGTERM doesn't end it. */
const STUBBORN = `
for (const name of ["SIGHUP", "SIGTERM"]) process.on(name, () => console.log(name));
console.log(process.pid); setInterval(() => {}, 1000);`;

test("exec runs a command in the folder and environment of a process: secrets, env files and limits, but neither its port nor its run", async (context) => {
  const startPort = await freeRange();
  const { folder } = homeOf(context, [
    {
      id: "web",
      ...SLEEPER,
      cwd: "app",
      env: { PLAIN: "shop", KEY: { file: "key" }, URL: `http://127.0.0.1:${"${PROCMAN_CLUSTER_PORT}"}` },
      envFile: "web.env",
      path: "bin",
      umask: "027",
      ulimits: { nofile: 333 },
      cluster: { instances: 2, startPort },
    },
    { id: "job", cmd: "true", env: { WHO: "job" } },
  ]);
  mkdirSync(join(folder, "app"));
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "key"), "s3cret\n", { mode: 0o600 });
  writeFileSync(join(folder, "web.env"), "FROM_FILE=yes\n");
  writeFileSync(join(folder, "bin", "tool"), "#!/bin/sh\necho tool of the process\n", { mode: 0o755 });
  assert.equal((await procman(folder, ["exec", "web", "--", "true"])).code, 69, "no procman runs");
  const begun = await procman(folder, ["run", "--detach"]);
  assert.equal(begun.code, 0, begun.err);

  const shell = (id: string, line: string) => procman(folder, ["exec", id, "--", "sh", "-c", line]);
  const names = "$PLAIN $KEY $FROM_FILE $PROCMAN_PROCESS_ID $PROCMAN_CLUSTER_INSTANCE $URL";
  const ran = await shell("web", `pwd; echo "${names}"; umask; ulimit -n; tool; echo careful >&2`);
  assert.deepEqual(ran.out.split("\n"), [
    join(realpathSync(folder), "app"),
    `shop s3cret yes web-1 0 http://127.0.0.1:${startPort}`,
    "0027",
    "333",
    "tool of the process",
    "",
  ]);
  assert.deepEqual([ran.code, ran.err], [0, "careful\n"]);
  const ports = await shell(
    "web-2",
    'echo "${PORT-none} ${PROCMAN_CLUSTER_PORT-none} ${PROCMAN_RUN_ID-none} ${PROCMAN_EXEC_ID%%/*}"',
  );
  assert.equal(ports.out, "none none none web-2\n");
  // A process that has never been started.
  assert.equal((await shell("job", 'echo "$WHO"')).out, "job\n");
  const audit = await procman(folder, ["logs", "web-1", "--category", "api"]);
  assert.match(audit.out, /exec of "sh" with 2 arguments for "cli"/);
  assert.doesNotMatch((await procman(folder, ["logs", "-n", "1000"])).out, /s3cret|careful/);
});

test("exec ends with the exit code of the command, 128 plus its signal, 127 and 126 as shells", async (context) => {
  const folder = await running(context, [{ id: "web", ...SLEEPER }]);
  writeFileSync(join(folder, "plain"), "no program\n");
  for (const [command, code, err] of [
    [["sh", "-c", "exit 7"], 7, /^$/],
    [["sh", "-c", "kill -9 $$"], 137, /^$/],
    [["sh", "-c", "kill -TERM $$"], 143, /^$/],
    [
      ["nosuch", "x"],
      127,
      /^procman: Cannot execute a command in "web": there is no program "nosuch" in the PATH of the process\n$/,
    ],
    [["./nosuch"], 127, /there is no program "\.\/nosuch"\n$/],
    [["./plain"], 126, /"\.\/plain" can't be executed \(EACCES\)\n$/],
  ] as const) {
    const ran = await procman(folder, ["exec", "web", "--", ...command]);
    assert.equal(ran.code, code, `${command.join(" ")}: ${ran.err}`);
    assert.match(ran.err, err);
  }
});

test("exec --json prints one record: exit code or signal, outputs with cut flags, duration; the exit code is the same", async (context) => {
  const folder = await running(context, [{ id: "web", ...SLEEPER }]);
  const ask = async (...command: readonly string[]) => {
    const ran = new Execution(folder, ["web", "--json", "--", ...command]);
    const code = await ran.code;
    const { out, err } = ran;
    assert.equal(err, "");
    const { durationMs, ...record } = JSON.parse(out) as ExecRecord;
    assert.ok(durationMs >= 0 && durationMs < 60_000);
    return { record, code };
  };
  const none = { process: "web", stdout: "", stderr: "", stdoutCut: false, stderrCut: false };
  assert.deepEqual(await ask("sh", "-c", "echo grüße; echo hm >&2; exit 3"), {
    record: { ...none, code: 3, stdout: "grüße\n", stderr: "hm\n" },
    code: 3,
  });
  assert.deepEqual(await ask("sh", "-c", "kill -9 $$"), { record: { ...none, signal: "SIGKILL" }, code: 137 });
  const missing = await ask("nosuch");
  assert.deepEqual([missing.code, missing.record.code], [127, 127]);
  assert.match(missing.record.stderr, /there is no program "nosuch"/);
  const { record: long } = await ask(
    "sh",
    "-c",
    "head -c 3000000 /dev/zero | tr '\\0' x; head -c 1048576 /dev/zero | tr '\\0' y >&2",
  );
  assert.deepEqual(
    [long.stdout.length, long.stdoutCut, long.stderr.length, long.stderrCut],
    [1_048_576, true, 1_048_576, false],
  );
  // What stays in the background doesn't keep the command waiting, and is ended.
  const { record: left } = await ask("sh", "-c", "sleep 1000 & echo $!");
  await processExit(Number(left.stdout));
  const { record: noisy } = await ask("sh", "-c", "yes & echo $! >&2");
  assert.equal(noisy.stdoutCut, true);
  await processExit(Number(noisy.stderr));
});

test("exec passes standard input and signals, and needs no procman any more once the command runs", async (context) => {
  const folder = await running(context, [{ id: "web", ...SLEEPER }]);
  const reader = new Execution(folder, ["web", "--", "sh", "-c", "read line; echo got $line; cat"]);
  reader.child.stdin?.end("first\nrest\n");
  assert.equal(await reader.code, 0);
  assert.equal(reader.out, "got first\nrest\n");
  const trapped = new Execution(folder, [
    "web",
    "--",
    "sh",
    "-c",
    'trap "echo asked; exit 5" TERM; echo $$; while :; do sleep 0.05; done',
  ]);
  await trapped.pid();
  trapped.child.kill("SIGTERM");
  assert.equal(await trapped.code, 5);
  assert.match(trapped.out, /asked\n$/);
});

test("exec refuses, with the remedy: no command, unknown and several processes, a missing secret, folder or option before --", async (context) => {
  const folder = await running(context, [
    { id: "web", ...SLEEPER },
    { id: "keyless", cmd: "true", env: { KEY: { file: "key" } } },
    { id: "homeless", cmd: "true", cwd: "later" },
  ]);
  for (const [args, code, message] of [
    [["web"], 64, /missing required argument 'command'/],
    [["wbe", "--", "true"], 1, /Did you mean "web"\?/],
    [["all", "--", "true"], 64, /Cannot execute a command in "all": it is not one process; name one/],
    [
      ["keyless", "--", "true"],
      1,
      /Cannot execute a command in "keyless": the file .*key of its variable KEY does not exist/,
    ],
    [["homeless", "--", "true"], 1, /its working directory .*later does not exist/],
    [["web", "ls", "-la"], 64, /unknown option '-la'; options of the program stand behind "--"/],
  ] as const) {
    const refused = await procman(folder, ["exec", ...args]);
    assert.match(refused.err, message);
    assert.equal(refused.code, code, refused.err);
    assert.equal(refused.out, "");
  }
  const json = await procman(folder, ["exec", "wbe", "--json", "--", "true"]);
  assert.equal(JSON.parse(json.err).error.code, "process-unknown");
});

test("a command of exec outlives stop and restart of its process, and a kill of keeper, service and logger", async (context) => {
  const folder = folderWith(context, { name: "test", processes: [{ id: "web", ...SLEEPER }] });
  const procmanRun = new Procman(folder);
  await procmanRun.line(/started \(pid/);
  const command = new Execution(folder, ["web", "--", "sh", "-c", "echo $$; read line; echo $line; exit 4"]);
  const pid = await command.pid();
  assert.equal((await procman(folder, ["restart", "web"])).code, 0);
  assert.equal((await procman(folder, ["stop", "web"])).code, 0);
  for (const part of ["logger", "service"] as const) {
    const killed = procmanRun.helper(part);
    process.kill(killed, "SIGKILL");
    await processExit(killed);
    await eventually(() => procmanRun.helperIfUp(part));
    assert.equal((await procman(folder, ["status"])).code, 0);
  }
  process.kill(procmanRun.pid, "SIGKILL");
  await procmanRun.successor();
  assert.ok(isAlive(pid));
  // Long enough for the look of the new service at commands of earlier ones.
  const other = await procman(folder, ["exec", "web", "--", "sleep", "3"]);
  assert.equal(other.code, 0, other.err);
  assert.ok(isAlive(pid));
  command.child.stdin?.end("done\n");
  assert.equal(await command.code, 4);
  assert.match(command.out, /done\n$/);
});

test("a command whose procman exec was killed is ended: SIGHUP, SIGTERM, SIGKILL after terminateTimeout; also by a later service", async (context) => {
  const folder = folderWith(context, { name: "test", processes: [{ id: "web", ...SLEEPER, terminateTimeout: 1 }] });
  writeFileSync(join(folder, "stubborn.cjs"), STUBBORN);
  const procmanRun = new Procman(folder);
  await procmanRun.line(/started \(pid/);
  const start = async (): Promise<{ readonly command: Execution; readonly pid: number }> => {
    const command = new Execution(folder, ["web", "--", "node", "stubborn.cjs"]);
    return { command, pid: await command.pid() };
  };
  const first = await start();
  first.command.child.kill("SIGKILL");
  await processExit(first.pid);
  assert.match(first.command.out, /SIGHUP\nSIGTERM\n$/);
  const second = await start();
  const service = procmanRun.helper("service");
  process.kill(service, "SIGKILL");
  second.command.child.kill("SIGKILL");
  await processExit(second.pid);
  assert.equal((await procman(folder, ["status", "web"])).code, 0, "the process itself still runs");
});

test("terminate ends the commands of exec, too, and waits for them", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", ...SLEEPER, terminateTimeout: 1 }]);
  writeFileSync(join(folder, "stubborn.cjs"), STUBBORN);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const command = new Execution(folder, ["web", "--", "node", "stubborn.cjs"]);
  const pid = await command.pid();
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  assert.deepEqual([isAlive(pid), keeperIn(state)], [false, 0]);
  assert.equal(await command.code, 137);
});

test("interactive programs have the terminal: node, bash with job control, Ctrl-C for the command alone, Ctrl-Z and fg", async (context) => {
  if (isMissing(context, "tmux")) return;
  const folder = await running(context, [{ id: "web", ...SLEEPER, env: { WHO: "web", TERM: "dumb" } }]);
  const terminal = new TmuxTerminal(context, { columns: 120, rows: 30, cwd: folder });
  const exec = (command: string): void => terminal.type(`${process.execPath} ${BIN} exec web -- ${command}`);
  exec("node");
  await terminal.see(/^> *$/);
  terminal.type("process.env.WHO + process.stdout.isTTY + process.stdout.columns");
  await terminal.see(/^'webtrue120'$/);
  terminal.type(".exit");
  await terminal.prompt();
  exec("bash --norc --noprofile");
  terminal.type('PS1="in-$WHO> "');
  await terminal.see(/^in-web> *$/);
  terminal.type("echo $TERM; sleep 1000");
  await terminal.see(/^(?:tmux|screen)/);
  terminal.keys("C-c");
  terminal.type("echo still $? $WHO");
  await terminal.see(/^still 130 web$/);
  terminal.type("sleep 999 & jobs; exit 9");
  await terminal.see(/^\[1\]\+ +Running +sleep 999/);
  await terminal.prompt();
  terminal.type("echo code $?");
  await terminal.see(/^code 9$/);
  exec("sh -c 'echo waiting; read x; echo got $x'");
  await terminal.see(/^waiting$/);
  terminal.keys("C-z");
  await terminal.see(/Stopped/);
  terminal.type("fg");
  terminal.type("it");
  await terminal.see(/^got it$/);
});

test("exec runs as the user of the process, and only root can", async (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const { folder } = homeOf(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, minUptimeMs: 50, cwd: "/", user: user.name },
  ]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const { out, err } = await procman(folder, ["exec", "web", "--", "sh", "-c", "id -un; id -g; echo $HOME $USER"]);
  assert.equal(out.split("\n")[0], user.name, err);
  assert.match(out, new RegExp(`^${user.gid}$`, "m"));
  assert.match(out, new RegExp(` ${user.name}$`, "m"));
});
