/** Events, incidents and metrics of a running service. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeSpawner } from "../../../../test/support/fakes.ts";
import { EVEN, FakeLog } from "../../../../test/support/service-fakes.ts";
import { folder } from "../../../../test/support/service-rig.ts";
import { ProcmanError } from "../../base/errors.ts";
import { RunMarkers } from "../../base/run-marker.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import { normalise } from "../../config/normalise.ts";
import type { EventRecord } from "../../contract/event-record.ts";
import type { LogEntry, TelemetryReport } from "../../contract/records.ts";
import { HistoryStore } from "../../history/history-store.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import { Actions } from "../operations/action.ts";
import { Operations } from "../operations/operations.ts";
import { ProcessBus } from "../process-bus.ts";
import { NoteStore, type StoredNotes } from "../recovery/notes.ts";
import { controlFactory } from "../service-control.ts";
import type { KeeperLink } from "../services.ts";
import { definitionOf, processOf, SpecRegistry } from "../spec-registry.ts";
import { StoredLog } from "../stored-log.ts";
import { systemClock } from "../system-clock.ts";
import { messageForEvent, requestOf } from "./event-messages.ts";
import type { ReadLastLines } from "./incidents.ts";
import { messageFor } from "./lifecycle-messages.ts";
import { newReporting } from "./reporting.ts";
import { serviceStatus } from "./service-status.ts";

const web: RawProcess = {
  id: "web",
  cmd: "sleep 1000",
  autostart: true,
  restart: "always",
  restartDelayMs: 60_000,
  restartLimit: 5,
};
const line = (text: string): LogEntry => ({
  time: "2026-06-01T00:00:00.000Z",
  process: "web",
  severity: "error",
  category: "stderr",
  text,
});

/** A service whose processes start and end on command. */
function watched(
  context: TestContext,
  {
    lastLines = async () => [],
    stateDir = folder(),
    stored = {},
  }: { lastLines?: ReadLastLines; stateDir?: string; stored?: StoredNotes } = {},
) {
  const normal = normalise(
    { processes: [web, { ...web, id: "api", cluster: { instances: 2 } }] },
    { folder: stateDir, parallelism: 1, now: new Date(), stripsTypes: false },
  );
  const config = { ...normal, stateDir, file: join(stateDir, "procman.json"), warnings: [] };
  // The tested timers are unref'ed and would not keep the test alive.
  const alive = setInterval(() => undefined, 1_000);
  const spawner = new FakeSpawner();
  const specs = new SpecRegistry(config);
  const notes = new Map<string, string>();
  const store = new NoteStore({
    remember: (name, note) => (note === "" ? notes.delete(name) : notes.set(name, JSON.stringify(note))),
  });
  store.load(stored, "");
  const log = new FakeLog();
  const bus = new ProcessBus((problem) => log.warn(problem));
  const service = { isTerminating: false };
  const status = () =>
    serviceStatus({
      config,
      processes: supervisor.processes,
      isSkipped: () => false,
      ...service,
      startedAt: Date.now(),
      keeper: 1,
      parts: [],
      plugins: undefined,
    });
  const supervisor: Supervisor = new Supervisor({
    clock: systemClock,
    spawner,
    publish: (transition) => {
      const id = processOf(transition.slot);
      bus.transitions.publish({
        id,
        spec: specs.of(id),
        transition,
        line: messageFor(transition, reporting.stats.messageContext(id)),
      });
    },
    notice: (id, notice) =>
      bus.events.publish({ id, event: notice, line: messageForEvent(notice), request: requestOf(notice) }),
    removed: (id) => bus.removed.publish(id),
  });
  const markers = new RunMarkers(config.stateDir, "0".repeat(32));
  const link = { commit: async () => undefined } as unknown as KeeperLink;
  const services = { bus, link, log, markers, notes: store, specs, supervisor };
  const reporting = newReporting(services, {
    lastLines,
    status,
    noRestartBy: () => undefined,
    takenPort: () => undefined,
    withBalancer: (record) => record,
  });
  const { incidents, events, metrics } = reporting;
  const notAsked = () => assert.fail("not asked for");
  const actions = new Actions(
    {
      ...services,
      ...reporting,
      operations: new Operations(),
      balancing: { ...EVEN, accepts: notAsked },
      lasting: { setClusterDisabled: notAsked },
    },
    { check: notAsked, begin: notAsked },
  );
  const controls = controlFactory({
    ...services,
    ...reporting,
    status,
    actions,
    history: new HistoryStore("/nowhere"),
    rollbacks: { rollback: notAsked },
    rollout: { mark: undefined, rollout: notAsked, join: notAsked, step: notAsked },
    deployments: { deploy: notAsked, deployment: notAsked, releases: notAsked, rollback: notAsked },
    reloads: {
      plan: notAsked,
      checkedPlan: notAsked,
      reload: notAsked,
      replacePort: notAsked,
      unapplied: undefined,
      lastReload: undefined,
    },
    scaler: { scale: notAsked },
    typeInto: notAsked,
    screens: { watch: notAsked, isWatching: notAsked, resize: notAsked },
    logAccess: new StoredLog({ log, specs }),
    spawner: { signal: notAsked },
    terminate: async () => undefined,
  });
  const control = (consumer: string, process?: string) =>
    controls({ consumer, ...(process === undefined ? {} : { process }) });
  const begin = (): void => {
    incidents.recover();
    events.publishServiceState();
    metrics.start();
  };
  const close = (): void => {
    metrics.retire();
    incidents.retire();
  };
  const onShutdown = (why: string): void => {
    incidents.onShutdown(why);
    events.publishServiceState();
  };
  context.after(() => {
    clearInterval(alive);
    supervisor.dispose();
    close();
  });
  supervisor.apply(config.processes.map(definitionOf));
  return { supervisor, spawner, begin, close, onShutdown, bus, control, service, log, stateDir, notes };
}

async function until(
  events: AsyncIterable<EventRecord>,
  isLast: (event: EventRecord) => boolean,
): Promise<readonly EventRecord[]> {
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

test("each transition is published once, with the resulting record", async (context) => {
  const { spawner, control } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  const seen = await until(events, (event) => event.type === "process.state" && event.process.status === "backoff");
  assert.deepEqual(
    seen.map((event) =>
      event.type === "process.state" ? [event.process.id, event.process.status, event.text?.slice(0, 18)] : event.type,
    ),
    [
      ["web", "running", "started (pid 101)"],
      ["web", "backoff", "exited with code 3"],
    ],
  );
});

test("2.2 a stop has one line, with how the run ended; one that takes a second says before that it is under way", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { supervisor, spawner, log } = watched(context);
  const web = supervisor.find("web");
  const said = (): readonly string[] => log.lines.splice(0);
  const end = (signal: string | null, code: number | null): void => {
    spawner.end("web", { kind: "exited", code, signal });
    spawner.swept("web");
  };
  spawner.up("web");
  web.restart();
  context.mock.timers.tick(900);
  end(null, 0);
  spawner.up("web");
  assert.deepEqual(said(), ["web: started (pid 101)", "web: stopped (code 0); starts again", "web: started (pid 102)"]);
  web.stop();
  context.mock.timers.tick(1_000);
  assert.deepEqual(said(), ["web: still stopping (SIGKILL in 29 s if it doesn't end)"]);
  end("SIGTERM", null);
  assert.deepEqual(said(), ["web: stopped (SIGTERM)"]);
  context.mock.timers.tick(5_000);
  assert.deepEqual(said(), []);
});

test("blocking and the shutdown are published", async (context) => {
  const { control, onShutdown, service } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  await control("test").act("web", "block");
  service.isTerminating = true;
  onShutdown("SIGTERM");
  const seen = await until(events, ({ type }) => type === "service.state");
  assert.deepEqual(
    seen.map((event) =>
      event.type === "process.state"
        ? event.process.blocked
        : event.type === "service.state"
          ? event.state.status
          : event.type,
    ),
    [true, "terminating"],
  );
});

test("each end is recorded: why, by whom, with the last lines; published as an event once it is complete", async (context) => {
  const asked: unknown[] = [];
  const lastLines: ReadLastLines = async (query) => {
    asked.push({ ...query, from: query.from > Date.now() - 60_000, before: query.before > query.from });
    return [line("x".repeat(2_000)), line("the end")];
  };
  const { spawner, control, stateDir, close } = watched(context, { lastLines });
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  spawner.up("api-1");
  // Ends within the same millisecond have no order.
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
  await assert.rejects(control("test").incidents("wbe"), /no process has this id/);
  close();
  const next = watched(context, { stateDir });
  assert.deepEqual(
    await next.control("test").incidents("web"),
    [incidents[0]],
    "a later service knows it, with the lines",
  );
});

test("an end is noted with the decision, and written after that; if the service is killed in between, the next one writes it", async (context) => {
  const first = watched(context);
  first.spawner.up("web");
  first.spawner.end("web", { kind: "exited", code: null, signal: "SIGKILL" });
  const left = Object.fromEntries(first.notes);
  assert.deepEqual(
    [Object.keys(left), readdirSync(first.stateDir)],
    [[":incident web#1"], []],
    "noted, not written yet",
  );
  const stored = { ...left, ":incident web#2": "{torn", ":owed": "[]" };
  const next = watched(context, { lastLines: async () => [line("the end")], stored });
  next.begin();
  const [incident, ...others] = await next.control("test").incidents("web");
  assert.deepEqual([incident?.cause, incident?.signal, incident?.lines.length, others], ["signal", "SIGKILL", 1, []]);
  const [own] = await first.control("test").incidents("web");
  assert.deepEqual([first.notes.size, own?.cause], [0, "signal"], "written, and nothing is left to note");
});

test("the lines of an incident that was never completed are read on request", async (context) => {
  const first = watched(context);
  first.spawner.up("web");
  first.spawner.exit("web", 3);
  first.close();
  const { control } = watched(context, { stateDir: first.stateDir, lastLines: async () => [line("late")] });
  const [incident] = await control("test").incidents("web");
  assert.deepEqual(
    incident?.lines.map(({ text }) => text),
    ["late"],
  );
});

test("if the log store can't be read, only the lines are missing", async (context) => {
  const lastLines: ReadLastLines = async () => {
    throw new Error("no disk");
  };
  const { spawner, control, log } = watched(context, { lastLines });
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  spawner.exit("web", 3);
  const told = (await until(events, ({ type }) => type === "process.incident")).at(-1);
  assert.deepEqual(told?.type === "process.incident" ? told.incident.lines : undefined, []);
  assert.deepEqual(log.own, ['Cannot read the last lines of "web": no disk']);
});

test("the telemetry of a process is kept, published and exported; it may report for no other process", async (context) => {
  const { control, spawner, log } = watched(context);
  const events = control("test").events(undefined, new AbortController().signal);
  spawner.up("web");
  const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`n${index}`, index]));
  await control("web", "web").telemetry(
    report("web", { metrics: { "queue.length": 7, "queue-length": 8, broken: Number.NaN, ...many } }),
  );
  const code = (expected: string) => (error: unknown) => error instanceof ProcmanError && error.code === expected;
  await assert.rejects(control("web", "web").telemetry(report("api-1")), code("process-foreign"));
  await assert.rejects(control("ci").telemetry(report("wbe")), code("process-unknown"));
  assert.equal((await control("test").process("web")).telemetry?.memory.rss, 5);
  assert.equal((await until(events, ({ type }) => type === "process.telemetry")).length, 2);
  const text = await control("test").prometheus();
  assert.match(text, /^procman_reported_memory_bytes\{process="web",cluster="",kind="heap_used"\} 3$/m);
  assert.match(
    text,
    /^procman_telemetry_queue_length\{process="web",cluster=""\} 7$/m,
    "of two names that become one the first counts",
  );
  assert.equal(text.match(/^procman_telemetry_\w+\{/gm)?.length, 49, "fifty numbers, of which two are one");
  await control("web", "web").telemetry(report("web", { metrics: { "a.b": 1, a_b: 2 } }));
  assert.deepEqual(
    log.own,
    [
      '"web" reports "queue.length" and "queue-length": both are procman_telemetry_queue_length for Prometheus, which gets only the first; rename one',
    ],
    "the log says it once for a process",
  );
});

test("what a run has reported isn't shown of the next one", async (context) => {
  const { control, spawner, supervisor } = watched(context);
  const reported = async () => (await control("test").process("web")).telemetry?.memory.rss;
  spawner.up("web");
  await control("web", "web").telemetry(report("web"));
  spawner.exit("web", 3);
  assert.equal(await reported(), 5, "until then it is");
  supervisor.find("web").start();
  spawner.up("web");
  assert.equal(await reported(), undefined);
});

test("metrics of an unknown process are refused; without samples nothing is written", async (context) => {
  const { control, stateDir } = watched(context);
  assert.deepEqual(await control("test").metrics("web", {}), []);
  await assert.rejects(control("test").metrics("wbe", {}), /no process has this id/);
  assert.deepEqual(readdirSync(stateDir), []);
});

test("a caller whose request was refused, or was another one, is not named as the cause", async (context) => {
  const { control, spawner, supervisor, onShutdown } = watched(context);
  spawner.up("web");
  await control("ci").act("web", "block");
  await assert.rejects(control("ci").act("web", "restart"), /it is blocked/);
  onShutdown("SIGTERM");
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
