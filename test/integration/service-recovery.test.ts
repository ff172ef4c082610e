/** A service or keeper is killed, and its successor continues, also with a changed configuration. */
import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Client } from "../../src/client/client.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { expiresIn, payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { procman as cli } from "../support/cli.ts";
import {
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
  startProcman,
} from "../support/procman-process.ts";
import { client } from "../support/product.ts";

const sleeper = { cmd: "sleep 1000", autostart: true } as const;
const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);
const stateOf = ({ folder }: { readonly folder: string }, file: string): string =>
  join(folder, ".procman/procman", file);
const startedPids = ({ lines }: Procman, id: string): readonly number[] =>
  lines.filter((line) => new RegExp(`^${id} .* started \\(pid`).test(line)).map(pidIn);

function endpointOf(procman: { readonly folder: string }): Endpoint | undefined {
  const file = stateOf(procman, "endpoint.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
}

/** A client of the service, once that answers. `before`: pid of the previous service. */
async function api(procman: { readonly folder: string }, before?: number): Promise<Client> {
  const { hostname, port } = await eventually(() => {
    const endpoint = endpointOf(procman);
    return endpoint === undefined || endpoint.pid === before ? undefined : endpoint;
  });
  const claims = { audience: "procman", consumer: "test", scopes: ["admin"], expires: expiresIn(600) } as const;
  const token = signJwt(payloadOf(claims), readFileSync(stateOf(procman, "secret")));
  const once: typeof fetch = (input, init) =>
    fetch(input, { ...init, headers: { ...init?.headers, connection: "close" } });
  const { connect } = await client();
  return connect({ url: `http://${hostname}:${port}`, token, fetch: once });
}

/** Kills the service, and resolves with a client of the next one. */
async function serviceKilled(procman: Procman): Promise<Client> {
  await api(procman);
  const pid = procman.helper("service");
  process.kill(pid, "SIGKILL");
  return api(procman, pid);
}

function configure({ folder }: { readonly folder: string }, processes: readonly ProcessConfig[]): void {
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes }));
}

/** Runs procman again in the folder of a killed one. */
function nextRun(context: TestContext, { folder }: Procman): Procman {
  const next = new Procman(folder);
  context.after(async () => {
    if (next.child.exitCode === null && next.child.signalCode === null) await next.stop();
  });
  return next;
}

/** Resolves once the answer to a question is yes. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => (await holds()) || undefined, { what: `${holds}` });
}

const recordOf = (records: readonly ProcessRecord[], id: string): ProcessRecord => {
  const record = records.find((each) => each.id === id);
  assert.ok(record !== undefined, id);
  return record;
};

test("states, pids, run numbers, restart counts, blocks, pending restarts and schedules survive a kill of the service", async (context) => {
  const procman = await startProcman(context, [
    { id: "steady", ...sleeper },
    { id: "counts", cmd: "sleep 1000", autostart: true, restartDelayMs: 5 },
    { id: "blocked", ...sleeper },
    { id: "finished", cmd: "true", autostart: true },
    { id: "errored", cmd: "no-such-program", autostart: true },
    { id: "exhausted", cmd: "exit 4", autostart: true, restartLimit: 1, restartDelayMs: 5 },
    { id: "stopped", ...sleeper },
    { id: "waits", cmd: "exit 5", autostart: true, restartDelayMs: 100_000 },
    { id: "job", cmd: "true", cron: "0 0 1 1 *" },
    { id: "nightly", ...sleeper, terminate: "0 0 1 1 *" },
    { id: "manual", cmd: "true", cron: "0 0 1 2 *" },
  ]);
  for (const pattern of [
    /steady .*started/,
    /stopped .*started/,
    /waits .*restart 1 in/,
    /exhausted .*used up/,
    /finished .*finished/,
  ])
    await procman.line(pattern);
  for (let starts = 1; starts <= 2; starts += 1)
    process.kill(pidIn((await procman.count(/counts .*started/, starts)).at(-1) ?? ""), "SIGKILL");
  await procman.count(/counts .*started/, 3);
  const client = await api(procman);
  await client.act("blocked", "block");
  await client.act("stopped", "stop");
  await procman.line(/stopped .*\| stopped \(SIGTERM\)$/);
  const before = await client.processes();
  const after = await (await serviceKilled(procman)).processes();
  const plain = (records: readonly ProcessRecord[]): readonly object[] =>
    records.map(
      ({
        started: _started,
        exited: _exited,
        updated: _updated,
        nextRestart: _nextRestart,
        reason,
        cause,
        ...record
      }) => {
        // Sampled now and then.
        const { cpuPercent: _cpu, memoryBytes: _memory, residentBytes: _resident, ...state } = record;
        const { delayMs: _delay, ...next } = cause?.next ?? {};
        return { ...state, cause: { ...cause, next }, reason: reason.replace(/in [\d.]+ s/, "") };
      },
    );
  assert.deepEqual(plain(after), plain(before));
  for (const [id, field] of [
    ["steady", "started"],
    ["counts", "started"],
    ["waits", "nextRestart"],
  ] as const) {
    const [was, is] = [before, after].map((records) => Date.parse(recordOf(records, id)[field] ?? ""));
    assert.ok(Math.abs((was ?? 0) - (is ?? 1e6)) < 100, `${id} ${field}: ${was} ${is}`);
  }
  assert.deepEqual(
    ["steady", "counts", "blocked", "job", "exhausted"].map((id) => {
      const { status, run, restarts, blocked } = recordOf(after, id);
      return [id, status, run, restarts, blocked];
    }),
    [
      ["steady", "running", 1, 0, false],
      ["counts", "running", 3, 2, false],
      ["blocked", "running", 1, 0, true],
      ["job", "created", undefined, 0, false],
      ["exhausted", "exhausted", 2, 1, false],
    ],
  );
  assert.ok(recordOf(after, "job").nextRun !== undefined && recordOf(after, "nightly").nextTerminate !== undefined);
});

test("a pending restart and a timeout of a run take place although the service was killed meanwhile", async (context) => {
  const procman = await startProcman(context, [
    { id: "comes", cmd: "exit 5", autostart: true, restartDelayMs: 700 },
    { id: "slow", cmd: "sleep 1000", autostart: true, timeout: 1, restart: "error", restartLimit: 0 },
  ]);
  await procman.line(/comes .*restart 1 in 700 ms/);
  await procman.line(/slow .*started/);
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/comes .*restart 2 in 700 ms/);
  await procman.line(/slow .*timeout of 1 s; stopping/);
  const [, age] = /after ([\d.]+) s; no restart/.exec(await procman.line(/slow .*no restart is allowed/)) ?? [];
  assert.ok(Number(age) >= 1, "counted from the start of the run");
});

test("an operator's restart in progress is completed by the next service, also if the process ends without a service", async (context) => {
  const program = "trap 'while [ ! -e go ]; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done";
  const procman = await startProcman(context, [
    { id: "web", cmd: program, autostart: true, logger: { console: true } },
  ]);
  await procman.line(/web .*up$/);
  const client = await api(procman);
  await client.act("web", "restart");
  await procman.line(/web .*stopping/);
  await serviceKilled(procman);
  writeFileSync(join(procman.folder, "go"), "");
  await procman.count(/web .*started \(pid/, 2);
  await procman.count(/web .*up$/, 2);
  const service = procman.helper("service");
  process.kill(service, "SIGSTOP");
  // The keeper sends it to a service that never reads it.
  const pid = startedPids(procman, "web").at(-1) ?? 0;
  process.kill(pid, "SIGKILL");
  await processExit(pid);
  process.kill(service, "SIGKILL");
  await procman.line(/web .*was killed by SIGKILL.*restart 1 at once/);
  await procman.count(/web .*started \(pid/, 3);
  assert.equal(await procman.stop(), 0);
});

test("the end of a process without a service is reported with its exit code by the next service", async (context) => {
  const procman = await startProcman(context, [
    { id: "job", cmd: "while [ ! -e go ]; do sleep 0.02; done; exit 7", autostart: true, restartLimit: 0 },
  ]);
  const pid = pidIn(await procman.line(/job .*started/));
  const service = procman.helper("service");
  process.kill(service, "SIGSTOP");
  writeFileSync(join(procman.folder, "go"), "");
  await processExit(pid);
  process.kill(service, "SIGKILL");
  await procman.line(/job .*exited with code 7 .*no restart is allowed/);
});

test("a shutdown in which the service is killed is completed by the next service", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "slow",
      cmd: "trap 'while [ ! -e go ]; do sleep 0.02; done; exit 0' TERM; echo up; while :; do sleep 0.02; done",
      autostart: true,
      logger: { console: true },
    },
    { id: "quick", ...sleeper },
  ]);
  await procman.line(/slow .*up$/);
  await (await api(procman)).terminate();
  await procman.line(/quick .*\| stopped \(SIGTERM\)$/);
  const before = procman.helper("service");
  process.kill(before, "SIGKILL");
  await procman.count(/stopping everything \(asked by test\)/, 2);
  writeFileSync(join(procman.folder, "go"), "");
  assert.equal((await procman.exit()).code, 0);
  assert.equal(startedPids(procman, "quick").length, 1);
});

const stubborn = "trap '' TERM; echo up; while :; do sleep 0.05; done";

test("the configuration changes while the service is down: processes are removed, changed, eased, blocked and added", async (context) => {
  const loud = { logger: { console: true } };
  const old = [
    { id: "same", ...sleeper },
    { id: "gone", cmd: stubborn, autostart: true, terminateTimeout: 0.2, ...loud },
    { id: "env", cmd: 'echo "I say $WORD"; sleep 1000', autostart: true, env: { WORD: "before" }, ...loud },
    { id: "eased", ...sleeper },
    { id: "stricter", ...sleeper, restartLimit: 0 },
    { id: "blocked", ...sleeper },
    { id: "silent", cmd: "echo heard; sleep 1000", autostart: true },
    { id: "cron", cmd: "true", cron: "0 0 1 1 *" },
  ];
  const procman = await startProcman(context, old);
  for (const id of ["same", "gone", "env", "eased", "stricter", "blocked", "silent"])
    await procman.line(new RegExp(`^${id} .*started \\(pid`));
  await procman.line(/gone .*up$/);
  const client = await api(procman);
  await client.act("blocked", "block");
  const pids = Object.fromEntries((await client.processes()).map(({ id, pid }) => [id, pid]));
  configure(procman, [
    { id: "same", ...sleeper },
    { id: "env", cmd: 'echo "I say $WORD"; sleep 1000', autostart: true, env: { WORD: "after" }, cwd: "..", ...loud },
    { id: "eased", ...sleeper, restartDelayMs: 5, terminate: "0 0 1 1 *" },
    { id: "stricter", ...sleeper, restartLimit: 0, timeout: 0.05 },
    { id: "blocked", cmd: "sleep 2000", autostart: true },
    { id: "silent", cmd: "echo heard; sleep 1000", autostart: true, ...loud },
    { id: "cron", cmd: "true", cron: "0 0 1 2 *" },
    { id: "new", ...sleeper },
  ]);
  const next = await serviceKilled(procman);
  for (const pattern of [
    /gone .*being removed: no longer in the configuration/,
    /gone .*did not end within 200 ms of SIGTERM; killing it/,
    /gone .*\| stopped \(SIGKILL\)$/,
    /env .*restarted: its cwd and env have changed/,
    /env .*I say after/,
    /eased .*its restartDelayMs and terminate have changed; it keeps running|eased .*its terminate and restartDelayMs have changed; it keeps running/,
    /stricter .*its timeout has changed; it keeps running/,
    /stricter .*timeout of 50 ms; stopping/,
    /blocked .*its cmd has changed; not restarted: it is blocked/,
    /silent .*its logger has changed; it keeps running/,
    /cron .*its cron has changed$/,
    /new .*started \(pid/,
  ])
    await procman.line(pattern);
  const records = await next.processes();
  assert.deepEqual(
    records.map(({ id }) => id),
    ["same", "env", "eased", "stricter", "blocked", "silent", "cron", "new"],
  );
  for (const id of ["same", "eased", "blocked", "silent"]) {
    assert.equal(recordOf(records, id).pid, pids[id], `${id} was not restarted`);
    assert.ok(isAlive(pids[id] ?? 0));
  }
  for (const id of ["gone", "env", "stricter"]) await processExit(pids[id] ?? 0);
  assert.match(recordOf(records, "cron").nextRun ?? "", /-0[12]-/);
  const lines = procman.lines.length;
  await serviceKilled(procman);
  await procman.line(/restarting it/, lines);
  assert.ok(
    !procman.lines.slice(lines).some((line) => /changed|being removed/.test(line)),
    "the next service reports nothing",
  );
});

test("another log file causes no restart, and the keeper knows the new destination of the output", async (context) => {
  const withLogFile = (stdout: string): ProcessConfig => ({ id: "web", ...sleeper, logger: { stdout } });
  const procman = await startProcman(context, [withLogFile("logs/a.log")]);
  const pid = pidIn(await procman.line(/web .*started/));
  configure(procman, [withLogFile("logs/b.log")]);
  await serviceKilled(procman);
  await procman.line(/web .*its logger has changed; it keeps running/);
  await eventually(() =>
    readFileSync(stateOf(procman, "run/journal"), "utf8").match(/"capture","key":"web#1".*b\.log/) ? true : undefined,
  );
  assert.ok(isAlive(pid));
  assert.deepEqual(startedPids(procman, "web"), [pid]);
});

test("a cluster is made smaller, then larger, then a plain process: a process with the same id keeps running", async (context) => {
  const cluster = (instances: number): ProcessConfig => ({ id: "web", ...sleeper, cluster: { instances } });
  const procman = await startProcman(context, [cluster(3)]);
  await procman.count(/web-\d .*started/, 3);
  const pids = [1, 2, 3].map((number) => startedPids(procman, `web-${number}`)[0] ?? 0);
  configure(procman, [cluster(2)]);
  await serviceKilled(procman);
  await procman.line(/web-3 .*being removed/);
  await processExit(pids[2] ?? 0);
  configure(procman, [cluster(3)]);
  await serviceKilled(procman);
  await procman.count(/web-3 .*started/, 2);
  for (const pid of pids.slice(0, 2)) assert.ok(isAlive(pid));
  configure(procman, [{ id: "web", ...sleeper }]);
  await serviceKilled(procman);
  await procman.line(/^web +\| started/);
  for (const pid of pids) await processExit(pid);
});

test("after a kill of the keeper and a change of the configuration the next run follows the same rules", async (context) => {
  const processes = ["same", "old", "moved"].map((id) => ({ id, ...sleeper }));
  const procman = await startProcman(context, processes, { args: ["--guarded"] });
  for (const id of ["same", "old", "moved"]) await procman.line(new RegExp(`^${id} .*started`));
  const [same, old, moved] = ["same", "old", "moved"].map((id) => startedPids(procman, id)[0] ?? 0);
  process.kill(procman.pid, "SIGKILL");
  await procman.exit();
  configure(procman, [
    { id: "same", ...sleeper },
    { id: "moved", ...sleeper, cwd: "/" },
    { id: "new", ...sleeper },
  ]);
  const next = nextRun(context, procman);
  await next.line(/old .*being removed: no longer in the configuration/);
  await next.line(/moved .*restarted: its cwd has changed/);
  await next.line(/new .*started/);
  await next.line(/moved .*started/);
  for (const pid of [old, moved]) await processExit(pid ?? 0);
  assert.ok(isAlive(same ?? 0));
  assert.deepEqual(startedPids(next, "same"), []);
  assert.equal(await next.stop(), 0);
  await processExit(same ?? 0);
});

test("a configuration that is invalid or missing when the service restarts: it uses the last valid one", async (context) => {
  const procman = await startProcman(context, [{ id: "web", ...sleeper }]);
  const pid = pidIn(await procman.line(/web .*started/));
  for (const text of ["{ half-way edit", undefined]) {
    const file = join(procman.folder, "procman.json");
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text);
    const from = procman.lines.length;
    const client = await serviceKilled(procman);
    await procman.line(/continuing with the previous configuration/, from);
    assert.equal((await client.process("web")).pid, pid);
  }
  process.kill(pid, "SIGKILL");
  await procman.count(/web .*started \(pid/, 2);
  assert.equal(await procman.stop(), 0);
});

test("with lost or damaged notes running processes are adopted, with the same pid and without a second copy", async (context) => {
  const procman = await startProcman(
    context,
    [
      { id: "lost", ...sleeper },
      { id: "torn", ...sleeper },
      { id: "fine", ...sleeper },
    ],
    { args: ["--guarded"] },
  );
  for (const id of ["lost", "torn", "fine"]) await procman.line(new RegExp(`^${id} .*started`));
  const pids = Object.fromEntries(["lost", "torn", "fine"].map((id) => [id, startedPids(procman, id)[0] ?? 0]));
  process.kill(procman.pid, "SIGKILL");
  await procman.exit();
  const journal = stateOf(procman, "run/journal");
  const note = (id: string, text: string): string => `${JSON.stringify({ t: "note", id, note: text })}\n`;
  appendFileSync(
    journal,
    note("lost", "") + note("torn", '{"blocked":false,"slo') + note(":config", "?") + note("foreign", "{}"),
  );
  const next = nextRun(context, procman);
  await next.line(/Cannot use the note of "torn"/);
  await next.line(/Cannot use the note of "foreign"/);
  for (const id of ["lost", "torn"])
    await next.line(new RegExp(`^${id} .*already running \\(pid ${pids[id]}\\); its history is not known`));
  const client = await api(next, procman.pid);
  for (const { id, pid, restarts, run, status } of await client.processes())
    assert.deepEqual({ pid, restarts, run, status }, { pid: pids[id], restarts: 0, run: 1, status: "running" }, id);
  for (const id of Object.keys(pids)) assert.deepEqual(startedPids(next, id), []);
  process.kill(pids.lost ?? 0, "SIGKILL");
  await next.line(/lost .*restart 1 at once/);
  const lines = next.lines.length;
  await serviceKilled(next);
  assert.ok(!next.lines.slice(lines).some((line) => /Cannot use/.test(line)), "reported once");
});

test("scheduled runs that were missed while procman was down are reported once, and not made up for", async (context) => {
  const job = { id: "job", cmd: "echo ran >> runs", cron: "* * * * * *" };
  const procman = await startProcman(context, [job, { id: "steady", ...sleeper }], { args: ["--guarded"] });
  await procman.line(/job .*starts by its schedule/);
  await eventually(() => (existsSync(join(procman.folder, "runs")) ? true : undefined));
  process.kill(procman.pid, "SIGKILL");
  await procman.exit();
  const before = Date.now();
  await eventually(() => (Date.now() > before + 2_100 ? true : undefined));
  const ran = readFileSync(join(procman.folder, "runs"), "utf8").length;
  const next = nextRun(context, procman);
  await next.line(
    /job .*not started by its schedule \d+ times \(\S+T\d\d:\d\d:\d\d\S* to \S+T\d\d:\d\d:\d\d\S*\) while procman was not running/,
  );
  assert.ok(
    readFileSync(join(procman.folder, "runs"), "utf8").length <= ran + 8,
    "at most one run may have started since",
  );
  await next.line(/job .*starts by its schedule/);
  assert.equal(next.lines.filter((line) => /while procman was not running/.test(line)).length, 1);
});

test("the API restarts at the same address", async (context) => {
  const procman = await startProcman(context, [{ id: "web", ...sleeper }]);
  await api(procman);
  const { port } = endpointOf(procman) as Endpoint;
  await serviceKilled(procman);
  assert.equal(endpointOf(procman)?.port, port);
});

/** Runs procman with `--exit-with`. */
function runExitWith(context: TestContext, id: string, processes: readonly ProcessConfig[]): Procman {
  const procman = new Procman(folderWith(context, { processes }), { args: ["--exit-with", id] });
  context.after(async () => {
    if (procman.child.exitCode === null && procman.child.signalCode === null) await procman.stop("SIGTERM");
  });
  return procman;
}

test("exit-with: when its process ends, procman stops all others and ends with its exit code", async (context) => {
  const ends: readonly (readonly [string, number])[] = [
    ["true", 0],
    ["exit 3", 3],
    ["kill -KILL $$", 137],
    ["no-such-program", 127],
    ["./not-executable", 126],
  ];
  for (const [cmd, code] of ends) {
    const procman = runExitWith(context, "job", [
      { id: "web", ...sleeper },
      { id: "job", cmd, autostart: true, restartLimit: 0 },
    ]);
    writeFileSync(join(procman.folder, "not-executable"), "");
    const web = pidIn(await procman.line(/web .*started/));
    assert.equal((await procman.exit()).code, code, `${cmd}\n${procman.lines.join("\n")}`);
    if (code === 126) await procman.line(/"chmod \+x \.\/not-executable" makes it executable/);
    await processExit(web);
    await procman.line(/stopping everything \("job" is over\)/);
  }
});

test("exit-with: restarts come first; a stop by SIGTERM has the process's code, too; an operator's stop is an end", async (context) => {
  const restarts = runExitWith(context, "job", [
    { id: "job", cmd: "exit 9", autostart: true, restartLimit: 2, restartDelayMs: 5 },
  ]);
  assert.equal((await restarts.exit()).code, 9);
  assert.equal(startedPids(restarts, "job").length, 3);
  const trapping = {
    id: "job",
    cmd: "trap 'exit 5' TERM; echo up; while :; do sleep 0.02; done",
    autostart: true,
    restart: "always",
    logger: { console: true },
  };
  const signalled = runExitWith(context, "job", [trapping]);
  await signalled.line(/job .*up$/);
  assert.equal(await signalled.stop(), 5);
  const stopped = runExitWith(context, "job", [trapping, { id: "web", ...sleeper }]);
  await stopped.line(/job .*up$/);
  await (await api(stopped)).act("job", "stop");
  assert.equal((await stopped.exit()).code, 5);
});

test("exit-with: a process that is killed by a second SIGTERM to procman sets no exit code", async (context) => {
  const job = {
    id: "job",
    cmd: "trap '' TERM; echo up; while :; do sleep 0.02; done",
    autostart: true,
    logger: { console: true },
  };
  const procman = runExitWith(context, "job", [job]);
  await procman.line(/job .*up$/);
  procman.child.kill("SIGTERM");
  await procman.line(/job .*stopping/);
  assert.equal(await procman.stop("SIGTERM"), 1);
});

test("exit-with survives a restart of the service, also when its process ends meanwhile", async (context) => {
  for (const isDown of [false, true]) {
    const procman = runExitWith(context, "job", [
      { id: "job", cmd: "while [ ! -e go ]; do sleep 0.02; done; exit 6", autostart: true, restartLimit: 0 },
      { id: "web", ...sleeper },
    ]);
    await procman.line(/job .*started/);
    await procman.line(/web .*started/);
    if (isDown) process.kill(procman.helper("service"), "SIGSTOP");
    else await serviceKilled(procman);
    const job = startedPids(procman, "job")[0] ?? 0;
    writeFileSync(join(procman.folder, "go"), "");
    await processExit(job);
    if (isDown) process.kill(procman.helper("service"), "SIGKILL");
    assert.equal((await procman.exit()).code, 6);
  }
});

test("exit-with an unknown id: exit code 64, a suggestion, and nothing starts", async (context) => {
  const procman = runExitWith(context, "wbe", [{ id: "web", cmd: "touch ran; sleep 1000", autostart: true }]);
  assert.equal((await procman.exit()).code, 64);
  await procman.line(
    /Cannot exit with process "wbe": the configuration has no process with this id\. Did you mean "web"\?/,
  );
  assert.ok(!existsSync(join(procman.folder, "ran")));
});

test("2.7 overlapping runs are numbered one by one in record, status, log, incidents and why, also after a kill of all of procman", async (context) => {
  const job = { id: "job", cmd: "echo I am $$; exec sleep 1000", overrun: true, autostart: true, restartLimit: 0 };
  const procman = await startProcman(context, [job], { args: ["--guarded"] });
  const first = await api(procman);
  await procman.count(/^job .* started/, 1);
  for (const more of [2, 3]) {
    await first.act("job", "start");
    await procman.count(/^job .* started/, more);
  }
  const pids = startedPids(procman, "job");
  const jobOf = async (control: Client): Promise<ProcessRecord> => recordOf(await control.processes(), "job");
  const before = await jobOf(first);
  assert.deepEqual([before.run, before.pid, before.started], [3, pids[2], before.runs?.at(-1)?.started]);
  assert.deepEqual(
    before.runs?.map(({ run, pid }) => [run, pid]),
    pids.map((pid, index) => [index + 1, pid]),
  );
  await until(async () => {
    const { entries } = await first.logs({ processes: ["job"], order: "asc" });
    const numbersOf = (text: RegExp): readonly unknown[] =>
      entries.filter((entry) => text.test(entry.text)).map((entry) => [entry.run, Number(/\d+/.exec(entry.text)?.[0])]);
    const expected = JSON.stringify(pids.map((pid, index) => [index + 1, pid]));
    return (
      JSON.stringify(numbersOf(/^I am/).toSorted()) === expected && JSON.stringify(numbersOf(/^started/)) === expected
    );
  });
  assert.match((await cli(procman.folder, ["status"])).out, /^job +running, 3 runs /m);
  assert.match(
    (await cli(procman.folder, ["why", "job"])).out,
    /job has 3 runs: run 1 \(pid \d+\) since .*, run 2 .*, run 3 /,
  );
  process.kill(pids[1] ?? 0, "SIGKILL");
  await procman.line(/^job .*SIGKILL/);
  await until(async () => {
    const [incident] = await first.incidents("job");
    return (
      incident?.run === 2 &&
      incident.pid === pids[1] &&
      incident.lines.map(({ text }) => text).join() === `I am ${pids[1]}`
    );
  });
  const service = procman.helper("service");
  for (const pid of [service, procman.helper("logger"), procman.pid]) process.kill(pid, "SIGKILL");
  await procman.exit();
  const next = nextRun(context, procman);
  const second = await api(next, service);
  await until(async () => (await jobOf(second)).runs?.length === 2);
  await second.act("job", "start");
  await next.count(/^job .* started/, 1);
  const left = [
    [1, pids[0]],
    [3, pids[2]],
    [4, startedPids(next, "job")[0]],
  ];
  assert.deepEqual(
    (await jobOf(second)).runs?.map(({ run, pid }) => [run, pid]),
    left,
  );
});
