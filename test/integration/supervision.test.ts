/** Real children under the built procman: start, restart, stop. Spec 2.2 and 3. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ownCgroup } from "../../src/core/os/cgroup.ts";
import { procman as cli } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { commandLineOf, nameOf } from "../support/proc-files.ts";
import {
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
  startProcman,
} from "../support/procman-process.ts";

const loud = { autostart: true, logger: { console: true } };
const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);

test("2.2 autostart and restart: a failed process restarts and its exit code is reported; a process without a start policy never starts", async (context) => {
  const procman = await startProcman(context, [
    { id: "fails", cmd: "exit 3", autostart: true, restartDelayMs: 20, restartLimit: 2 },
    { id: "never", cmd: "sleep 1000" },
  ]);
  await procman.line(/fails .*exited with code 3 .*restart 1 of 2 in 20 ms/);
  await procman.line(/fails .*exited with code 3 .*2 restarts are used up/);
  assert.equal(procman.lines.filter((line) => /fails .* started/.test(line)).length, 3);
  assert.ok(!procman.lines.some((line) => /never .*started/.test(line)));
});

test("2.2 the signal that ended a process is reported", async (context) => {
  const procman = await startProcman(context, [
    { id: "victim", cmd: "sleep 1000", autostart: true, restart: "error", restartDelayMs: 5 },
  ]);
  process.kill(pidIn(await procman.line(/victim .*started/)), "SIGSEGV");
  await procman.line(/victim .*killed by SIGSEGV/);
  await procman.count(/victim .*started/, 2);
});

test("2.2 cmd: the pid of a simple command, also of the last in a list, is the program's own", async (context) => {
  const lines = {
    plain: "sleep 1000",
    quoted: "sleep '1000' > /dev/null 2>&1",
    variables: "FOO=1 BAR=$HOME sleep 1000",
    list: "cd / && true; sleep 1000 # long",
  };
  const procman = await startProcman(
    context,
    Object.entries(lines).map(([id, cmd]) => ({ id, cmd, autostart: true })),
  );
  for (const id of Object.keys(lines)) {
    const pid = pidIn(await procman.line(new RegExp(`${id} .*started`)));
    assert.equal(await eventually(() => (nameOf(pid) === "sleep" ? "sleep" : undefined)), "sleep");
  }
});

test("2.2 cmd: all features of a POSIX shell work", async (context) => {
  const script = (id: string, cmd: string) => ({ id, cmd, env: { GREETING: "good day" }, ...loud });
  const procman = await startProcman(context, [
    script("variable", 'echo "say: $GREETING"'),
    script("pipe", "printf 'b\\na\\n' | sort | tr '\\n' ,; echo"),
    script("and", "true && echo and-done || echo never"),
    script("loop", "for i in 1 2 3; do echo n$i; done"),
    script("here", "cat <<END\nhere $GREETING\nEND"),
    script("condition", 'if [ -n "$GREETING" ]; then echo yes; else echo no; fi'),
    script("background", "sleep 0.1 & wait $!; echo waited"),
    script("glob", "cd /etc && echo host*s | grep -o hosts | head -1"),
    script("exit", "sh -c 'exit 42'"),
  ]);
  for (const expected of [
    /say: good day/,
    /a,b,/,
    /and-done/,
    /n1/,
    /n3/,
    /here good day/,
    /condition.*yes/,
    /waited/,
    /glob.*hosts/,
    /exit .*code 42/,
  ])
    await procman.line(expected);
  assert.ok(!procman.lines.some((line) => /never/.test(line)));
});

test("2.2 env, path: variables override, PATH is appended to, and a run knows its id", async (context) => {
  const procman = await startProcman(
    context,
    [
      {
        id: "env",
        cmd: 'echo "$HOME|$PROCMAN_PROCESS_ID|$PROCMAN_RUN_ID|$PATH|"',
        env: { HOME: "/over", PATH: "/from-env" },
        path: ["/from-path"],
        ...loud,
      },
    ],
    { env: { HOME: "/home/before" } },
  );
  const line = await procman.line(/\|env\|/);
  assert.match(line, /\/over\|env\|env\.1@\w+\.[0-9a-f]{16}\|/);
  assert.ok(line.includes(`${process.env.PATH}:`) && line.includes("/from-env") && line.includes("/from-path"), line);
});

test("2.2 a missing program or folder: that process is errored with the reason and the remedy, the others continue", async (context) => {
  const procman = await startProcman(context, [
    { id: "program", cmd: "no-such-program --flag", autostart: true },
    { id: "folder", cmd: "sleep 1", cwd: "no/such/folder", autostart: true },
    { id: "script", worker: "no-such-script.js", autostart: true },
    { id: "shell", cmd: "no-such-program 2>&1 | cat; exit 127", autostart: true, restart: "error", restartLimit: 0 },
    { id: "fine", cmd: "echo fine; sleep 1000", ...loud },
  ]);
  await procman.line(/program .*there is no program "no-such-program" in its PATH.*not retried/);
  await procman.line(/folder .*working directory .*no\/such\/folder does not exist/);
  await procman.line(/script .*there is no file .*no-such-script\.js; correct "worker"; not retried/);
  await procman.line(/shell .*code 127 \(the shell found no such command\)/);
  await procman.line(/fine .*fine/);
});

test("stopSignal: each process gets its own, behind the load balancer and as a worker too, even after a kill of procman and a change", async (context) => {
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const printSignals = `for (const name of ["SIGTERM", "SIGINT", "SIGQUIT", "SIGHUP", "SIGUSR2"])
    process.on(name, () => { console.log("got " + name); process.exit(0); });
  setInterval(() => undefined, 1e6);
  console.log("ready");`;
  const processes = (changed: string): ProcessConfig[] => [
    { id: "plain", cmd: `node print-signals.cjs`, stopSignal: "SIGINT", ...loud },
    { id: "usual", cmd: `node print-signals.cjs`, ...loud },
    { id: "worker", worker: "print-signals.cjs", stopSignal: "SIGUSR2", ...loud },
    { id: "changed", cmd: `node print-signals.cjs`, stopSignal: changed, ...loud },
    {
      id: "web",
      cmd: `node print-signals.cjs`,
      stopSignal: "SIGQUIT",
      cluster: { instances: 1, startPort, commonPort },
      ...loud,
    },
  ];
  const folder = folderWith(context, { processes: processes("SIGINT") });
  writeFileSync(join(folder, "print-signals.cjs"), printSignals);
  const procman = new Procman(folder);
  await procman.count(/\| ready$/, 5);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes: processes("SIGHUP") }));
  const { code, err } = await cli(folder, ["reload"]);
  assert.equal(code, 0, err);
  await procman.stopHolder();
  for (const [id, signal] of [
    ["plain", "SIGINT"],
    ["usual", "SIGTERM"],
    ["worker", "SIGUSR2"],
    ["changed", "SIGHUP"],
    ["web-1", "SIGQUIT"],
  ])
    await procman.line(new RegExp(`^.*\\b${id} +\\| got ${signal}$`));
});

test("2.2 stop: a process that ignores SIGTERM is killed after terminateTimeout; background children and those in other sessions end too", async (context) => {
  const folder = folderWith(context, {
    processes: [
      { id: "stubborn", cmd: "trap '' TERM; echo ready; while :; do sleep 1; done", terminateTimeout: 0.3, ...loud },
      { id: "family", cmd: 'sleep 1001 & setsid sleep 1002 & echo "kids $!"; wait', ...loud },
    ],
  });
  const procman = new Procman(folder);
  await procman.line(/stubborn .*ready/);
  const session = Number(/kids (\d+)/.exec(await procman.line(/kids \d+/))?.[1]);
  const started = Date.now();
  assert.equal(await procman.stop(), 0);
  assert.ok(Date.now() - started >= 300);
  await procman.line(/stubborn .*did not end within 300 ms of SIGTERM; killing it/);
  await processExit(session);
  const left = readdirSync("/proc").filter(
    (pid) => /^\d+$/.test(pid) && /^sleep\x00100[12]\x00/.test(commandLineOf(Number(pid))),
  );
  assert.deepEqual(left, []);
  assert.deepEqual(readdirSync(join(folder, ".procman", "procman", "run")), [], "the files of the runs are removed");
});

test("2.2 terminateGracePeriod: a process that finishes by itself gets no SIGTERM", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "polite",
      cmd: "trap 'echo got-term; exit 1' TERM; echo up; sleep 0.5; echo done",
      terminateGracePeriod: 20,
      ...loud,
    },
  ]);
  await procman.line(/polite .*up/);
  assert.equal(await procman.stop(), 0);
  await procman.line(/polite .*done/);
  assert.ok(!procman.lines.some((line) => line.includes("got-term")));
});

test("2.2 restart: children that a crash leaves behind are ended before the process restarts", async (context) => {
  const procman = await startProcman(context, [
    { id: "leader", cmd: 'sleep 1003 & echo "kid $!"; exit 1', restartLimit: 1, ...loud },
  ]);
  const [first] = await procman.count(/kid \d+/, 2);
  await processExit(Number(/kid (\d+)/.exec(first ?? "")?.[1]));
  await procman.line(/leader .*left processes behind/);
});

test("2.2 timeout: a run that takes too long is stopped, and counts as an error", async (context) => {
  const procman = await startProcman(context, [
    { id: "slow", cmd: "sleep 1000", autostart: true, timeout: 0.2, restart: "error", restartLimit: 1 },
  ]);
  await procman.line(/slow .*timeout of 200 ms; stopping/);
  await procman.count(/slow .*started/, 2);
});

test("2.2 cron with seconds starts a process at its times; with overrun a second run starts while the first still runs", async (context) => {
  const procman = await startProcman(context, [
    { id: "job", cmd: "echo job-done", cron: "* * * * * *", logger: { console: true } },
    { id: "single", cmd: "sleep 1000", cron: "* * * * * *" },
    { id: "many", cmd: "sleep 1000", cron: "* * * * * *", overrun: true },
  ]);
  await procman.count(/job .*job-done/, 2);
  await procman.line(/single .*not started by its schedule.*previous run is still under way/);
  await procman.count(/many.* started \(pid/, 2);
  await procman.line(/single .*started \(pid/);
  assert.equal(procman.lines.filter((line) => /single .*started \(pid/.test(line)).length, 1);
});

test("every event is reported once, also after the API has started", async (context) => {
  const procman = await startProcman(context, [
    { id: "tick", cmd: "sleep 1000", cron: "* * * * * *", overrun: true },
    { id: "fails", cmd: "sleep 0.3; exit 1", autostart: true, restartDelayMs: 10 },
  ]);
  await eventually(() => (existsSync(join(procman.folder, ".procman/procman/endpoint.json")) ? true : undefined));
  await procman.count(/tick.* started \(pid/, 3);
  await procman.count(/fails .*started \(pid/, 6);
  const pids = procman.lines.filter((line) => /started \(pid/.test(line)).map(pidIn);
  assert.equal(new Set(pids).size, pids.length, procman.lines.join("\n"));
  const seconds = procman.lines.flatMap((line) => /tick .*starts by its schedule \((.*)\)/.exec(line)?.[1] ?? []);
  assert.equal(new Set(seconds).size, seconds.length, seconds.join(" "));
});

test("2.2 children that left the session end with procman at the latest, also when the service is dead", async (context) => {
  for (const isDead of [false, true]) {
    const procman = await startProcman(context, [
      { id: "gone", cmd: 'setsid sleep 1006 & echo "away $!"; sleep 0.2', ...loud },
    ]);
    const away = Number(/away (\d+)/.exec(await procman.line(/away \d+/))?.[1]);
    await procman.line(/gone .*finished/);
    assert.ok(isAlive(away));
    if (isDead) process.kill(procman.helper("service"), "SIGSTOP");
    assert.equal(await procman.stop(), 0);
    await processExit(away);
  }
});

test("2.2 terminate with restart always restarts on a schedule", async (context) => {
  const procman = await startProcman(context, [
    { id: "nightly", cmd: "sleep 1000", autostart: true, restart: "always", restartLimit: 1, terminate: "* * * * * *" },
  ]);
  await procman.line(/nightly .*terminated by its schedule/);
  await procman.count(/nightly .*started \(pid/, 4);
});

test("2.2 pidFile holds the pid while the process runs and is deleted after", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, pidFile: "run/web.pid", restartLimit: 0 },
  ]);
  const pid = pidIn(await procman.line(/web .*started/));
  const file = join(procman.folder, "run/web.pid");
  assert.equal(await eventually(() => (existsSync(file) ? readFileSync(file, "utf8") : undefined)), `${pid}\n`);
  process.kill(pid, "SIGKILL");
  await procman.line(/web .*SIGKILL/);
  await eventually(() => (existsSync(file) ? undefined : true));
});

test("2.2 pidFile and overrun: it holds the pid of the latest run that is there, until the last one has ended", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: "exec sleep 1000", autostart: true, overrun: true, pidFile: "web.pid", restartLimit: 0 },
  ]);
  const file = join(procman.folder, "web.pid");
  const holds = (pid: number): Promise<true> =>
    eventually(() => (existsSync(file) && readFileSync(file, "utf8") === `${pid}\n` ? true : undefined));
  await procman.line(/web .*started/);
  for (let more = 0; more < 2; more++) assert.equal((await cli(procman.folder, ["start", "web"])).code, 0);
  const [first = 0, second = 0, third = 0] = (await procman.count(/web.* started/, 3)).map(pidIn);
  await holds(third);
  process.kill(first, "SIGKILL");
  await procman.count(/web.*SIGKILL/, 1);
  await holds(third);
  process.kill(third, "SIGKILL");
  await holds(second);
  process.kill(second, "SIGKILL");
  await eventually(() => (existsSync(file) ? undefined : true));
});

test("2.2 cluster: each instance knows its number and its port", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: 'echo "I am $PROCMAN_CLUSTER_INSTANCE at $PROCMAN_CLUSTER_PORT"; sleep 1000',
      cluster: { instances: 2, startPort: 7300 },
      ...loud,
    },
  ]);
  await procman.line(/web-1 .*I am 0 at 7300/);
  await procman.line(/web-2 .*I am 1 at 7301/);
});

test("a kill of the service affects no process, and the next service continues", async (context) => {
  const procman = await startProcman(context, [
    { id: "steady", cmd: "sleep 1000", autostart: true },
    { id: "counts", cmd: "sleep 1000", autostart: true, restartDelayMs: 10 },
  ]);
  const steady = pidIn(await procman.line(/steady .*started/));
  process.kill(pidIn(await procman.line(/counts .*started/)), "SIGKILL");
  await procman.count(/counts .*started/, 2);
  const before = procman.lines.length;
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/service ended \(SIGKILL\); restarting it/);
  process.kill(pidIn((await procman.count(/counts .*started/, 2))[1] ?? ""), "SIGKILL");
  await procman.line(/counts .*restart 2 in 10 ms/, before);
  assert.match((await cli(procman.folder, ["logs", "--category", "service"])).out, /the service ended \(SIGKILL\)/);
  assert.ok(isAlive(steady));
  assert.equal(procman.lines.slice(before).filter((line) => /steady/.test(line)).length, 0);
});

test("SIGTERM with an unresponsive service: the keeper stops all process groups", async (context) => {
  const procman = await startProcman(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const pid = pidIn(await procman.line(/web .*started/));
  const service = procman.helper("service");
  process.kill(service, "SIGSTOP");
  assert.equal(await procman.stop(), 0);
  await processExit(pid);
  await processExit(service);
});

test("a second signal to procman kills all processes at once", async (context) => {
  const procman = await startProcman(context, [
    { id: "stubborn", cmd: "trap '' TERM; echo up; while :; do sleep 1; done", ...loud },
  ]);
  const pid = pidIn(await procman.line(/stubborn .*started/));
  await procman.line(/stubborn .*up/);
  procman.child.kill("SIGINT");
  await procman.line(/stubborn .*still stopping \(SIGKILL in 29 s if it doesn't end\)/);
  procman.child.kill("SIGINT");
  assert.equal((await procman.exit()).code, 0);
  await processExit(pid);
});

test("a second run on the same state folder is refused and names the first one", async (context) => {
  const procman = await startProcman(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  await procman.line(/web .*started/);
  const second = new Procman(procman.folder);
  assert.equal((await second.exit()).code, 1);
  await second.line(new RegExp(`already running.*pid ${procman.pid}`));
  assert.equal(procman.lines.filter((line) => /started/.test(line)).length, 1);
});

test("2.2 stop: with a cgroup no process escapes, even one that leaves its process group and clears its environment", async (context) => {
  const procman = await startProcman(
    context,
    [{ id: "houdini", cmd: 'setsid env -i /bin/sleep 1005 & echo "away $!"; wait', ...loud }],
    {
      env: { PROCMAN_CGROUPS: "1" },
    },
  );
  const away = Number(/away (\d+)/.exec(await procman.line(/away \d+/))?.[1]);
  await eventually(() => (commandLineOf(away).startsWith("/bin/sleep") ? true : undefined));
  assert.equal(await procman.stop(), 0);
  if (ownCgroup() === undefined) {
    await procman.line(/PROCMAN_CGROUPS is set, but/);
    process.kill(away);
  }
  await processExit(away);
});

test("a killed keeper is replaced by another, which adopts the processes and continues", async (context) => {
  const procman = await startProcman(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const pid = pidIn(await procman.line(/web .*started/));
  procman.child.kill("SIGKILL");
  const adopted = /the keeper was killed; this one \(pid \d+\) replaces it and has adopted 1 process,/;
  await procman.line(adopted);
  assert.ok(isAlive(pid));
  const stored = await eventually(
    async () => {
      const { out } = await cli(procman.folder, ["logs", "--category", "service", "--json"]);
      return adopted.test(out) ? out.trim().split("\n") : undefined;
    },
    { what: "the kill of the keeper in the log" },
  );
  assert.equal([...stored, ...procman.lines].filter((line) => adopted.test(line)).length, 2, "one entry, one line");
  process.kill(pid, "SIGTERM");
  await procman.line(/web .*exit code unknown.*restart 1/);
  const again = pidIn((await procman.count(/web .*started/, 2))[1] ?? "");
  await procman.stopHolder();
  await processExit(again);
  assert.deepEqual(readdirSync(join(procman.stateDir, "run")), []);
});

test("a killed keeper with --guarded isn't replaced, and the next run adopts the processes", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "web", cmd: "sleep 1000", autostart: true }] });
  const procman = new Procman(folder, { args: ["--guarded"] });
  const pid = pidIn(await procman.line(/web .*started/));
  const service = procman.helper("service");
  const keeper = procman.pid;
  procman.child.kill("SIGKILL");
  await processExit(service);
  // The channel to the service closes before the keeper has ended.
  await processExit(keeper);
  assert.equal(procman.keeper, undefined);
  assert.ok(isAlive(pid));
  const next = new Procman(procman.folder);
  await next.line(/1 process that an earlier procman left running is adopted/);
  process.kill(pid, "SIGTERM");
  await next.line(/web .*exit code unknown.*restart 1/);
  const again = pidIn(await next.line(/web .*started/));
  assert.equal(await next.stop(), 0);
  await processExit(again);
});

test("7 an invalid configuration: every problem is reported at once with its place, exit code 78", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "web", cmdd: "x", restart: "sometimes" }] });
  const procman = new Procman(folder);
  assert.equal((await procman.exit()).code, 78);
  await procman.line(/procman\.json:1:\d+/);
  await procman.line(/Did you mean "cmd"/);
  await procman.line(/"always"/);
});
