/** What is seen of a service at work: issue 4, "Build" 4 to 6. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeSpawner } from "../../test/fakes.ts";
import { ProcmanError } from "../base/errors.ts";
import { normalise } from "../config/normalise.ts";
import type { RawProcess } from "../config/schema.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { LogEntry, ProcessRecord, TelemetryReport } from "../contract/records.ts";
import { systemClock } from "../runtime/clock.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { controlsOf } from "./control.ts";
import type { LastLines } from "./incidents.ts";
import { StoredLog } from "./log-book.ts";
import { type Observed, ServiceObservatory } from "./observatory.ts";
import { planOf, processOf } from "./specs.ts";
import { Voice } from "./voice.ts";
import { Witness } from "./witness.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-observatory-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const web: RawProcess = { id: "web", cmd: "sleep 1000", autostart: true, restart: "always", restartDelayMs: 60_000, restartLimit: 5 };
const line = (text: string): LogEntry => ({
  time: "2026-06-01T00:00:00.000Z",
  process: "web",
  severity: "error",
  category: "stderr",
  text,
});

/** A service whose children do as they are told. */
function watched(
  context: TestContext,
  { lastLines = async () => [], stateDir = folder(context) }: { lastLines?: LastLines; stateDir?: string } = {},
) {
  const normal = normalise(
    { processes: [web, { ...web, id: "api", cluster: { instances: 2 } }] },
    { folder: stateDir, parallelism: 1, now: new Date(), stripsTypes: false },
  );
  const config = { ...normal, stateDir, file: join(stateDir, "procman.json"), warnings: [] };
  // What is tested waits by timers that keep nobody alive.
  const alive = setInterval(() => undefined, 1_000);
  const spawner = new FakeSpawner();
  const spec = (slot: string) => config.processes.find(({ id }) => id === processOf(slot)) ?? assert.fail(slot);
  const problems: string[] = [];
  const supervisor = new Supervisor({
    clock: systemClock,
    spawner,
    publish: (transition) => witness.onTransition(transition),
    notice: (id, notice) => witness.onNotice(id, notice),
    removed: (id) => observatory.forget(id),
  });
  const balancing = { shown: (record: ProcessRecord) => record };
  const service = {
    config,
    supervisor,
    spec,
    isTerminating: false,
    leaving: [],
    startedAt: Date.now(),
    keeper: 1,
    balancing,
    plugins: { records: undefined },
  };
  const notes = new Map<string, string>();
  const observatory = new ServiceObservatory(service as Observed, {
    notes: { remember: (name, entry) => notes.set(name, JSON.stringify(entry)), forget: (name) => notes.delete(name) },
    lastLines,
    sampled: (samples) => witness.onSamples(samples),
    report: (problem) => problems.push(problem),
  });
  const voice = new Voice({ sendLater: () => undefined } as never);
  const witness = new Witness(
    { config, observatory, balancing: { changed: () => undefined }, sharing: { changed: () => undefined }, spec, supervisor },
    voice,
  );
  const logBook = new StoredLog({ stateDir, voice, find: () => undefined });
  const commands = { terminate: async () => undefined, commit: async () => undefined };
  const reloading = { plan: () => assert.fail("not asked for"), reload: () => assert.fail("not asked for") };
  const rolling = { restart: () => assert.fail("not asked for"), abort: () => undefined };
  const scaling = { scale: () => assert.fail("not asked for") };
  const controlled = { ...service, ...commands, reloading, rolling, scaling, observatory, logBook };
  const controls = controlsOf(controlled, { audit: () => undefined });
  const control = (consumer: string, process?: string) => controls({ consumer, ...(process === undefined ? {} : { process }) });
  context.after(() => {
    clearInterval(alive);
    supervisor.dispose();
    observatory.close();
  });
  supervisor.apply(config.processes.map(planOf));
  return { supervisor, spawner, observatory, control, service, problems, stateDir, notes };
}

async function until(events: AsyncIterable<EventRecord>, isLast: (event: EventRecord) => boolean): Promise<readonly EventRecord[]> {
  const seen: EventRecord[] = [];
  for await (const event of events) {
    seen.push(event);
    if (isLast(event)) break;
  }
  return seen;
}

const report = (process: string, more: Partial<TelemetryReport> = {}): TelemetryReport => ({
  process,
  memory: { rss: 5, heapTotal: 4, heapUsed: 3, external: 2 },
  cwd: "/",
  sent: "2026-06-01T00:00:00.000Z",
  ...more,
});

test("4.5 each transition is told once, with the record that it led to", async (context) => {
  const { spawner, control } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  const seen = await until(events, (event) => event.type === "process.state" && event.process.status === "backoff");
  assert.deepEqual(
    seen.map((event) => (event.type === "process.state" ? [event.process.id, event.process.status, event.text?.slice(0, 18)] : event.type)),
    [
      ["web", "running", "started (pid 101)"],
      ["web", "backoff", "exited with code 3"],
    ],
  );
});

test("4.5 blocks and the end of everything are told", async (context) => {
  const { control, observatory, service } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  await control("test").act("web", "block");
  service.isTerminating = true;
  observatory.onTermination("SIGTERM");
  const seen = await until(events, ({ type }) => type === "service.state");
  assert.deepEqual(
    seen.map((event) =>
      event.type === "process.state" ? event.process.blocked : event.type === "service.state" ? event.state.status : event.type,
    ),
    [true, "terminating"],
  );
});

test("4.6 each end is written down: why, by whom, with the last lines; told as an event once it is complete", async (context) => {
  const asked: unknown[] = [];
  const lastLines: LastLines = async (query) => {
    asked.push({ ...query, from: query.from > Date.now() - 60_000, before: query.before > query.from });
    return [line("x".repeat(2_000)), line("the end")];
  };
  const { spawner, control, stateDir, observatory } = watched(context, { lastLines });
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  spawner.up("api-1");
  // Ends within one millisecond have no order.
  for (const first = Date.now(); Date.now() < first + 2; );
  await control("deploy").act("api-1", "stop");
  spawner.exit("api-1", 0);
  spawner.swept("api-1");
  const at = performance.now();
  const told = await until(events, (event) => event.type === "process.incident" && event.incident.process === "api-1");
  assert.ok(performance.now() - at > 900, "its last lines have had the time to arrive");
  const incidents = told.flatMap((event) => (event.type === "process.incident" ? [event.incident] : []));
  assert.deepEqual(
    incidents.map(({ process, cause, by, lines }) => [process, cause, by, lines.map(({ text }) => text.length)]),
    [
      ["web", "exit", undefined, [2_000, 7]],
      ["api-1", "operator", "deploy", [2_000, 7]],
    ],
  );
  assert.deepEqual(asked[0], { process: "web", run: 1, from: true, before: true, count: 50, characters: 2_000 });
  assert.deepEqual(await control("test").incidents("web"), [incidents[0]]);
  assert.deepEqual(
    (await control("test").incidents("all")).map(({ process }) => process),
    ["api-1", "web"],
    "newest first",
  );
  assert.equal((await control("test").incidents("api", 5)).length, 1, "of the instances of a cluster");
  await assert.rejects(control("test").incidents("wbe"), /there is none of this id/);
  observatory.close();
  const next = watched(context, { stateDir });
  assert.deepEqual(await next.control("test").incidents("web"), [incidents[0]], "a later service knows it, with the lines");
});

test("4.6 an end is noted with what was decided, and written after that; a service that was killed in between leaves it to the next", async (context) => {
  const first = watched(context);
  first.spawner.up("web");
  first.spawner.end("web", { kind: "exited", code: null, signal: "SIGKILL" });
  const left = Object.fromEntries(first.notes);
  assert.deepEqual([Object.keys(left), readdirSync(first.stateDir)], [[":incident web#1"], []], "noted, not written yet");
  const next = watched(context, { lastLines: async () => [line("the end")] });
  next.observatory.begin({ ...left, ":incident web#2": "{torn", ":owed": "[]" });
  const [incident, ...others] = await next.control("test").incidents("web");
  assert.deepEqual([incident?.cause, incident?.signal, incident?.lines.length, others], ["signal", "SIGKILL", 1, []]);
  const [own] = await first.control("test").incidents("web");
  assert.deepEqual([first.notes.size, own?.cause], [0, "signal"], "written, and nothing is left to note");
});

test("4.6 the lines of an end that nobody could complete are read by whoever asks", async (context) => {
  const first = watched(context);
  first.spawner.up("web");
  first.spawner.exit("web", 3);
  first.observatory.close();
  const { control } = watched(context, { stateDir: first.stateDir, lastLines: async () => [line("late")] });
  const [incident] = await control("test").incidents("web");
  assert.deepEqual(
    incident?.lines.map(({ text }) => text),
    ["late"],
  );
});

test("4.6 a store that can't be read costs the lines, and nothing else", async (context) => {
  const lastLines: LastLines = async () => {
    throw new Error("no disk");
  };
  const { spawner, control, problems } = watched(context, { lastLines });
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  const told = (await until(events, ({ type }) => type === "process.incident")).at(-1);
  assert.deepEqual(told?.type === "process.incident" ? told.incident.lines : undefined, []);
  assert.deepEqual(problems, ['Cannot read the last lines of "web": no disk']);
});

test("4.4 what a process says of itself is kept, told and exported; it may speak for nobody else", async (context) => {
  const { control, spawner } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`n${index}`, index]));
  await control("web", "web").telemetry(report("web", { metrics: { "queue.length": 7, "queue-length": 8, broken: Number.NaN, ...many } }));
  const code = (expected: string) => (error: unknown) => error instanceof ProcmanError && error.code === expected;
  await assert.rejects(control("web", "web").telemetry(report("api-1")), code("process-foreign"));
  await assert.rejects(control("ci").telemetry(report("wbe")), code("process-unknown"));
  assert.equal((await control("test").process("web")).telemetry?.memory.rss, 5);
  assert.equal((await until(events, ({ type }) => type === "process.telemetry")).length, 2);
  const text = await control("test").prometheus();
  assert.match(text, /^procman_reported_memory_bytes\{process="web",cluster="",kind="heap_used"\} 3$/m);
  assert.match(text, /^procman_telemetry_queue_length\{process="web",cluster=""\} 7$/m, "of two names that become one the first counts");
  assert.equal(text.match(/^procman_telemetry_\w+\{/gm)?.length, 49, "fifty numbers, of which two are one");
});

test("4.4 metrics of an unknown process are refused; nothing is written before there is anything", async (context) => {
  const { control, stateDir } = watched(context);
  assert.deepEqual(await control("test").metrics("web", {}), []);
  await assert.rejects(control("test").metrics("wbe", {}), /there is none of this id/);
  assert.deepEqual(readdirSync(stateDir), []);
});

test("4.6 who was refused, or has asked for something else, has not stopped it", async (context) => {
  const { control, spawner, supervisor, observatory } = watched(context);
  spawner.up("web");
  await control("ci").act("web", "block");
  await assert.rejects(control("ci").act("web", "restart"), /it is blocked/);
  observatory.onTermination("SIGTERM");
  const stopped = supervisor.stopAll();
  for (const slot of ["api-1", "api-2"]) {
    spawner.up(slot);
    spawner.exit(slot, 0);
    spawner.swept(slot);
  }
  spawner.exit("web", 0);
  spawner.swept("web");
  await stopped;
  const [incident] = await control("test").incidents("web");
  assert.deepEqual([incident?.cause, incident?.by], ["shutdown", undefined]);
  assert.match(incident?.reason ?? "", /^was stopped with procman \(SIGTERM\); it exited with code 0/);
});
