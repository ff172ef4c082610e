/** Real programs that restart when real files change. Spec 2.2 and 2.4. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { EventRecord } from "../../src/core/contract/event-record.ts";
import type { Endpoint } from "../../src/core/contract/records.ts";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import { payloadOf } from "../../src/core/contract/token-claims.ts";
import { IncidentLog } from "../../src/core/incidents/incident-log.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { procman as cli } from "../support/cli.ts";
import {
  eventually,
  folderWith,
  isAlive,
  type ProcessConfig,
  Procman,
  processExit,
} from "../support/procman-process.ts";

const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);

/** A procman with these files in its folder before it starts. */
function startWatching(
  context: TestContext,
  processes: readonly ProcessConfig[],
  files: readonly string[],
  watcher: object = {},
): Procman {
  const folder = folderWith(context, { processes, watcher: { interval: 100, ...watcher } });
  for (const file of files) write({ folder }, file);
  return new Procman(folder);
}

function write({ folder }: { readonly folder: string }, file: string, text = `${Math.random()}`): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
}

/** File times lag by some milliseconds: resolves when a file that is written now is later than all before. */
async function tick(): Promise<void> {
  const now = Date.now();
  const probe = join(mkdtempSync(join(tmpdir(), "procman-tick-")), "probe");
  await eventually(() => {
    writeFileSync(probe, "");
    return statSync(probe).mtimeMs > now ? true : undefined;
  });
  rmSync(dirname(probe), { recursive: true });
}

/** Waits until the keeper has the fingerprint of the watched files; a change before that would be missed. */
async function waitForFingerprint(procman: Procman): Promise<void> {
  await eventually(() => {
    const journal = join(procman.folder, ".procman/procman/run/journal");
    return existsSync(journal) && readFileSync(journal, "utf8").includes(":watched") ? true : undefined;
  });
}

/** Its pid, once it runs again. */
async function serviceOf(procman: Procman): Promise<number> {
  return eventually(() => {
    try {
      const pid = procman.helper("service");
      return isAlive(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  });
}

function incidents(procman: Procman, id: string, count: number): Promise<readonly Incident[]> {
  const log = new IncidentLog(procman.stateDir, assert.fail);
  return eventually(
    async () => {
      const all = (await log.read(id)).map(({ incident }) => incident);
      return all.length >= count ? all : undefined;
    },
    { what: `${count} incidents of ${id}` },
  );
}

function endpointOf({ folder }: Procman): Promise<Endpoint> {
  return eventually(() => {
    const file = join(folder, ".procman/procman/endpoint.json");
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
  });
}

/** Two turns of the service's event loop: it has handled all earlier events of the kernel. */
async function flushEvents(procman: Procman): Promise<void> {
  const { hostname, port } = await endpointOf(procman);
  for (let round = 0; round < 2; round++) await (await fetch(`http://${hostname}:${port}/openapi.json`)).arrayBuffer();
}

/** The first event of this type after `act`. */
async function eventAfter(procman: Procman, type: EventRecord["type"], act: () => void): Promise<EventRecord> {
  const endpoint = await endpointOf(procman);
  const claims = { audience: "procman", consumer: "test", scopes: ["admin"] } as const;
  const token = signJwt(payloadOf(claims), readFileSync(join(procman.stateDir, "secret")));
  const answer = await fetch(`http://${endpoint.hostname}:${endpoint.port}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.ok(answer.body);
  await tick();
  act();
  let text = "";
  for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const data = text
      .split("\n")
      .filter((line) => line.startsWith("data: ") && line.endsWith("}"))
      .map((line) => JSON.parse(line.slice(6)) as EventRecord);
    const event = data.find((each) => each.type === type);
    if (event !== undefined) return event;
  }
  throw new Error("the stream has ended");
}

test("2.2, 2.4 a process with only watch starts at once, and restarts when a file changes; log, event and incident name the file", async (context) => {
  const procman = startWatching(context, [{ id: "web", cmd: "sleep 1000", watch: ["src"] }], ["src/lib/a.ts"]);
  const first = pidIn(await procman.line(/^web .*started \(pid/));
  await waitForFingerprint(procman);
  const event = await eventAfter(procman, "process.watch", () => write(procman, "src/lib/a.ts"));
  assert.deepEqual(
    [event.type === "process.watch" && event.process, event.type === "process.watch" && event.file],
    ["web", "src/lib/a.ts"],
  );
  await procman.line(/^web .*restarts: src\/lib\/a\.ts has changed/);
  const [, second = ""] = await procman.count(/^web .*started \(pid/, 2);
  assert.notEqual(pidIn(second), first);
  await processExit(first);
  const [incident] = await incidents(procman, "web", 1);
  assert.equal(incident?.cause, "watch");
  assert.match(incident?.reason ?? "", /^was restarted because src\/lib\/a\.ts has changed; it was killed by SIGTERM/);
  assert.equal(incident?.decision, "starts again at once");
});

test("2.4 created, deleted and renamed files, recreated folders and several changes at once are noticed", async (context) => {
  const procman = startWatching(
    context,
    [{ id: "web", cmd: "sleep 1000", watch: ["src", "dist"] }],
    ["src/a.ts", "dist/x/old.js"],
  );
  await procman.line(/^web .*started/);
  await waitForFingerprint(procman);
  const restartsFor = async (file: RegExp, act: () => void): Promise<void> => {
    const from = procman.lines.length;
    await tick();
    act();
    await procman.line(file, from);
    await procman.line(/^web .*started/, from);
  };
  await restartsFor(/restarts: src\/new\.ts has changed/, () => write(procman, "src/new.ts"));
  await restartsFor(/restarts: src\/new\.ts has changed/, () => rmSync(join(procman.folder, "src/new.ts")));
  await restartsFor(/restarts: src\/a\.ts has changed/, () => {
    write(procman, "src/.a.ts.tmp");
    renameSync(join(procman.folder, "src/.a.ts.tmp"), join(procman.folder, "src/a.ts"));
  });
  await restartsFor(/restarts: dist\/.* and (?:another|\d+ others) have changed/, () => {
    rmSync(join(procman.folder, "dist"), { recursive: true });
    write(procman, "dist/p/q/new.js");
  });
});

test("2.4 two processes and a cluster watch the same folder and restart; a process that watches another one doesn't", async (context) => {
  const sleeper = { cmd: "sleep 1000", watch: ["src"] };
  const procman = startWatching(
    context,
    [
      { id: "a", ...sleeper },
      { id: "b", ...sleeper, cluster: { instances: 2 } },
      { id: "c", cmd: "sleep 1000", watch: ["lib"] },
    ],
    ["src/a.ts", "lib/b.ts"],
  );
  await procman.count(/started \(pid/, 4);
  await waitForFingerprint(procman);
  await tick();
  write(procman, "src/a.ts");
  for (const id of ["a", "b-1", "b-2"]) await procman.count(new RegExp(`^${id} .*started \\(pid`), 2);
  assert.equal(procman.lines.filter((line) => /^c .*(?:started|restarts)/.test(line)).length, 1);
});

test("2.4 files that procman itself writes into a watched folder are not changes", async (context) => {
  const cmd = "while sleep 0.02; do echo line; done";
  const procman = startWatching(
    context,
    [{ id: "web", cmd, watch: ["."], pidFile: "web.pid", logger: { stdout: "web.log" } }],
    ["a.ts"],
    {
      exts: [],
      match: ["**"],
    },
  );
  await procman.line(/^web .*started/);
  await eventually(() =>
    existsSync(join(procman.folder, "web.log")) && readFileSync(join(procman.folder, "web.log")).length > 200
      ? 1
      : undefined,
  );
  await tick();
  write(procman, "last");
  await procman.line(/^web .*restarts:/);
  assert.match(procman.lines.find((line) => /restarts:/.test(line)) ?? "", /restarts: last has changed/);
});

test("2.4 a process that changes its own folder at each start is restarted ever later after a while, and that is reported", async (context) => {
  const procman = startWatching(
    context,
    [{ id: "web", cmd: "sleep 0.05; date +%N > src/built.ts; exec sleep 1000", watch: ["src"] }],
    ["src/a.ts"],
  );
  await procman.line(
    /^web .*src\/built\.ts has changed soon after a start, and not for the first time; waiting until no file has changed/,
  );
  await procman.line(
    /^web .*src\/built\.ts has changed soon after that start, too: .* in 20 s at the earliest\. If it writes that file itself, add the file to "skip"/,
  );
  assert.equal(procman.lines.filter((line) => /restarts: src\/built/.test(line)).length, 5);
});

test("2.2 watch: files that a process writes or removes at its end are not changes for the next run", async (context) => {
  const cmd = "trap 'date +%N > src/state.ts; rm -f src/old.ts; exit 0' TERM; echo traps; while :; do sleep 0.05; done";
  const procman = startWatching(
    context,
    [{ id: "web", cmd, watch: ["src"], logger: { console: true } }],
    ["src/a.ts", "src/old.ts"],
  );
  await procman.line(/^web .*traps/);
  await waitForFingerprint(procman);
  const from = procman.lines.length;
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web .*traps/, from);
  // The new run has the files that were written at the end: nothing more happens until the next change.
  await tick();
  write(procman, "src/b.ts");
  await procman.line(/restarts: src\/b\.ts/, from);
  await procman.count(/^web .*started/, 3);
  assert.deepEqual(
    procman.lines.filter((line) => /(?:restarts|starts): src\/(?:state|old)/.test(line)),
    [],
  );
});

test("2.4 a change while the service is down restarts the process when the next service starts; without a change nothing happens", async (context) => {
  const procman = startWatching(context, [{ id: "web", cmd: "sleep 1000", watch: ["src"] }], ["src/a.ts", "src/b.ts"]);
  const first = pidIn(await procman.line(/^web .*started/));
  await waitForFingerprint(procman);
  const whileServiceDown = async (act: () => void): Promise<void> => {
    const service = await serviceOf(procman);
    process.kill(service, "SIGSTOP");
    await tick();
    act();
    process.kill(service, "SIGKILL");
    await processExit(service);
  };
  await whileServiceDown(() => undefined);
  await whileServiceDown(() => write(procman, "src/b.ts"));
  await procman.line(/^web .*restarts: src\/b\.ts has changed/);
  await processExit(first);
  await procman.count(/^web .*started/, 2);
  // The next service watches, too.
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web .*restarts: src\/a\.ts has changed/);
  assert.equal(procman.lines.filter((line) => /restarts:/.test(line)).length, 2);
});

test("2.4 a change that waits for its interval when a reload replaces the watcher restarts the process at once", async (context) => {
  const web = { id: "web", cmd: "sleep 1000", watch: ["src"] };
  const procman = startWatching(context, [web], ["src/a.ts"], { interval: 600_000 });
  await procman.line(/^web .*started/);
  await waitForFingerprint(procman);
  await tick();
  write(procman, "src/a.ts");
  await flushEvents(procman);
  const reloaded = JSON.stringify({ processes: [web], watcher: { interval: 500_000 } });
  writeFileSync(join(procman.folder, "procman.json"), reloaded);
  process.kill(procman.pid, "SIGHUP");
  await procman.line(/^web .*restarts: src\/a\.ts has changed/);
  await procman.count(/^web .*started/, 2);
});

test("2.4 each process counts changes by its own watcher; a reload of it restarts nothing, and counts from then on", async (context) => {
  const watched = { cmd: "sleep 1000", watch: ["src"] };
  const processes = (exts: readonly string[]): readonly ProcessConfig[] => [
    { id: "code", ...watched },
    { id: "style", ...watched, watcher: { exts } },
  ];
  const procman = startWatching(context, processes(["css"]), ["src/a.ts", "src/b.css", "src/c.html"]);
  const [code, style] = (await procman.count(/started \(pid/, 2)).toSorted().map(pidIn);
  await waitForFingerprint(procman);
  await tick();
  write(procman, "src/b.css");
  await procman.line(/^style .*restarts: src\/b\.css has changed/);
  const second = pidIn((await procman.count(/^style .*started \(pid/, 2))[1] ?? "");
  await processExit(style ?? 0);
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^code .*restarts: src\/a\.ts has changed/);
  await processExit(code ?? 0);
  assert.ok(isAlive(second), "style has nothing to do with .ts");
  const config = { processes: processes(["html"]), watcher: { interval: 100 } };
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify(config));
  assert.equal((await cli(procman.folder, ["reload"])).code, 0);
  assert.ok(isAlive(second), "the reload restarts nothing");
  await tick();
  write(procman, "src/c.html");
  await procman.line(/^style .*restarts: src\/c\.html has changed/);
  assert.equal(procman.lines.filter((line) => /restarts:/.test(line)).length, 3);
});

test("2.4 a change that waits for the interval of one process isn't lost when a reload changes the watcher of another one", async (context) => {
  const web = { id: "web", cmd: "sleep 1000", watch: ["src"] };
  const mail = { ...web, id: "mail", watcher: { exts: ["css"] } };
  const procman = startWatching(context, [web, mail], ["src/a.ts"], { interval: 600_000 });
  await procman.count(/started \(pid/, 2);
  await waitForFingerprint(procman);
  await tick();
  write(procman, "src/a.ts");
  await flushEvents(procman);
  const processes = [web, { ...mail, watcher: { exts: ["html"] } }];
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes, watcher: { interval: 600_000 } }));
  process.kill(procman.pid, "SIGHUP");
  await procman.line(/^web .*restarts: src\/a\.ts has changed/);
  await procman.count(/^web .*started/, 2);
  await flushEvents(procman);
  assert.equal(procman.lines.filter((line) => /restarts:/.test(line)).length, 1);
});

test("2.4 a restart for a changed file in which the service is killed is completed by the next service", async (context) => {
  const cmd = "trap '' TERM; while :; do sleep 0.05; done";
  const procman = startWatching(context, [{ id: "web", cmd, watch: ["src"], terminateTimeout: 1 }], ["src/a.ts"]);
  const first = pidIn(await procman.line(/^web .*started/));
  await waitForFingerprint(procman);
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web .*restarts: src\/a\.ts has changed/);
  process.kill(await serviceOf(procman), "SIGKILL");
  await processExit(first);
  await procman.count(/^web .*started/, 2);
  const [incident] = await incidents(procman, "web", 1);
  assert.equal(incident?.cause, "watch");
});

/** Three instances that end at once while the file `broken` exists. */
const clusterOf = (more: object = {}): ProcessConfig => ({
  id: "web",
  cmd: "test ! -e broken && exec sleep 1000",
  watch: ["src"],
  cluster: { instances: 3 },
  ...more,
});
const INSTANCES = ["web-1", "web-2", "web-3"];

test("2.4 a watching cluster restarts one instance after another, each names the file; changes meanwhile lead to one more rolling restart", async (context) => {
  const procman = startWatching(context, [clusterOf()], ["src/a.ts"]);
  await procman.count(/^web-\d .*started \(pid/, 3);
  await waitForFingerprint(procman);
  const from = procman.lines.length;
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web-1 .*restarts: src\/a\.ts has changed/, from);
  await procman.line(/^web-1 .*started/, from);
  await tick();
  for (const file of ["src/b.ts", "src/c.ts"]) write(procman, file);
  await procman.count(/^web .*the rolling restart is done/, 2);
  const seen = procman.lines.slice(from).filter((line) => /^web-\d .*(?:restarts:|started)/.test(line));
  assert.deepEqual(
    seen.map((line) => `${line.slice(0, 5)} ${/a\.ts has|\.ts and another have|started/.exec(line)?.[0]}`),
    [...INSTANCES.flatMap((id) => [`${id} a.ts has`, `${id} started`]), "web-1 .ts and another have", "web-1 started"],
  );
  for (const id of INSTANCES)
    assert.match((await incidents(procman, id, 1))[0]?.reason ?? "", /^was restarted because src\/a\.ts has changed/);
});

test("2.4 if an instance doesn't come up with the changed file, the others keep running until a file is mended", async (context) => {
  const procman = startWatching(context, [clusterOf({ restart: "error", restartLimit: 0 })], ["src/a.ts"]);
  const started = await procman.count(/^web-\d .*started \(pid/, 3);
  const pidOf = (id: string): number => pidIn(started.find((line) => line.startsWith(id)) ?? "");
  await waitForFingerprint(procman);
  await tick();
  write(procman, "broken");
  write(procman, "src/a.ts");
  await procman.line(
    /^web .*Cannot restart "web" any further: "web-1" did not come up: it exited with code 1; .*; web-2, web-3 keep running as before/,
  );
  assert.deepEqual([isAlive(pidOf("web-2")), isAlive(pidOf("web-3"))], [true, true]);
  rmSync(join(procman.folder, "broken"));
  const from = procman.lines.length;
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web-1 .*starts: src\/a\.ts has changed/, from);
  await procman.line(/^web .*the rolling restart is done/, from);
  for (const id of ["web-2", "web-3"]) assert.equal(isAlive(pidOf(id)), false);
});

test("2.4 a rolling restart for a changed file in which the service is killed is continued by the next one, with the changes meanwhile", async (context) => {
  const procman = startWatching(context, [clusterOf()], ["src/a.ts"]);
  await procman.count(/^web-\d .*started \(pid/, 3);
  await waitForFingerprint(procman);
  const from = procman.lines.length;
  await tick();
  write(procman, "src/a.ts");
  await procman.line(/^web-1 .*started/, from);
  const service = await serviceOf(procman);
  process.kill(service, "SIGSTOP");
  await tick();
  write(procman, "src/b.ts");
  process.kill(service, "SIGKILL");
  await procman.line(/^web .*resuming the rolling restart at "web-1"/, from);
  await procman.count(/^web .*the rolling restart is done/, 2);
  const seen = procman.lines.slice(from).filter((line) => /^web-\d .*restarts:/.test(line));
  assert.deepEqual(
    seen.map((line) => `${line.slice(0, 5)} ${/src\/.\.ts/.exec(line)?.[0]}`),
    ["web-1 src/a.ts", "web-2 src/a.ts", "web-3 src/a.ts", "web-1 src/b.ts"],
  );
});
