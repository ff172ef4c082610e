/** Applying changed definitions, also to the state of a previous service. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { Change, ProcessDefinition } from "./definition.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { Policy } from "./restart-policy.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import type { SlotState } from "./states.ts";
import { Supervisor } from "./supervisor.ts";

process.env.TZ = "UTC";
const HOUR = 3_600_000;
function definition(
  id: string,
  fields: Partial<ProcessDefinition> = {},
  rules: Partial<Policy> = {},
): ProcessDefinition {
  return { id, autostart: true, overrun: false, ...fields, policy: { ...POLICY, ...rules } };
}

function setup(
  snapshots: Readonly<Record<string, ProcessSnapshot>> = {},
  before: readonly ProcessDefinition[] = [],
  leaving: readonly string[] = [],
) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const notices: { readonly id: string; readonly notice: ProcessEvent }[] = [];
  const removed: string[] = [];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: (id, notice) => notices.push({ id, notice }),
    removed: (id) => removed.push(id),
  });
  const start = clock.wall();
  supervisor.resume(before, new Map(Object.entries(snapshots)), new Set(leaving));
  const takeNotices = (): readonly string[] =>
    notices.splice(0).map(({ id, notice }) => `${id} ${show(notice, start)}`);
  const status = (id: string) => supervisor.find(id).states.map((state) => state.status);
  const ids = (): readonly string[] => supervisor.processes.map(({ id }) => id);
  return { clock, spawner, supervisor, removed, takeNotices, status, ids, start };
}

function show(notice: ProcessEvent, start: number): string {
  if (notice.type === "missed") return `missed ${notice.kind} ${notice.times} from ${(notice.first - start) / HOUR}`;
  if (notice.type === "changed") return `changed ${notice.fields.join("+")}: ${notice.effect}`;
  return notice.type === "removed" ? `removed ${notice.isIdle ? "idle" : "running"}` : notice.type;
}

/** All processes are running, each in its first run. */
function running(...definitions: readonly ProcessDefinition[]) {
  const all = setup();
  all.supervisor.apply(definitions);
  for (const { id } of definitions) all.spawner.up(id);
  all.spawner.takeRequests();
  return all;
}

function end({ spawner }: { readonly spawner: FakeSpawner }, slot: string, code = 0): void {
  spawner.exit(slot, code);
  spawner.swept(slot);
}

const changes = (...list: readonly (Change & { readonly id: string })[]): ReadonlyMap<string, Change> =>
  new Map(list.map((change) => [change.id, change]));
const renewed = (id: string): ReadonlyMap<string, Change> => changes({ id, fields: ["cmd"], restart: true });
const eased = (id: string): ReadonlyMap<string, Change> => changes({ id, fields: ["timeout"], restart: false });
const up = (fields: Partial<SlotState & { status: "running" }> = {}): SlotState =>
  ({ status: "running", run: 4, restarts: 2, pid: 50, since: 400, ready: false, ...fields }) as SlotState;
const failed = { kind: "exited", code: 1, signal: null } as const;

test("new processes start by their policy; the others continue without a notice", () => {
  const all = running(definition("web"));
  all.supervisor.apply([definition("web"), definition("api"), definition("idle", { autostart: false })]);
  assert.deepEqual(all.spawner.takeRequests(), ["spawn api 1"]);
  assert.deepEqual(all.takeNotices(), []);
  assert.deepEqual(all.ids(), ["web", "api", "idle"]);
});

test("a removed process is stopped by its own policy, reported, and forgotten after its exit", () => {
  const all = running(definition("web"), definition("old", {}, { graceMs: 500, terminateMs: 700 }));
  all.supervisor.apply([definition("web")]);
  assert.deepEqual(all.takeNotices(), ["old removed running"]);
  assert.deepEqual(all.ids(), ["web", "old"], "it is shown until it has ended");
  all.clock.advance(500);
  assert.deepEqual(all.spawner.takeRequests(), ["drain old 1", "SIGTERM old 1"]);
  all.clock.advance(700);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGKILL old 1"]);
  assert.ok(all.spawner.snapshots.has("old"));
  for (const verb of ["start", "restart"] as const)
    assert.throws(() => all.supervisor.find("old")[verb](), { code: "process-leaving" });
  end(all, "old");
  assert.deepEqual([all.ids(), all.removed, all.spawner.snapshots.has("old")], [["web"], ["old"], false]);
});

test("a removed idle process is forgotten immediately; its pending restart is cancelled", () => {
  const all = running(definition("job", { cron: "* * * * *" }), definition("crashes", {}, { restartDelayMs: 100 }));
  end(all, "job");
  all.spawner.exit("crashes", 1);
  all.supervisor.apply([]);
  assert.deepEqual(all.takeNotices(), ["crashes removed running", "job removed idle"]);
  assert.deepEqual([all.ids(), all.removed.toSorted()], [[], ["crashes", "job"]]);
  all.clock.advance(HOUR);
  assert.deepEqual(all.spawner.takeRequests(), []);
  assert.equal(all.clock.armed, 0);
});

test("removed processes are stopped in reverse order; one that returns while it is being stopped starts after its exit", () => {
  const all = running(definition("a"), definition("b"), definition("c"));
  all.supervisor.apply([definition("b")]);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGTERM c 1", "SIGTERM a 1"]);
  all.supervisor.apply([definition("a", { cron: "* * * * *" }), definition("b")]);
  assert.deepEqual(all.ids(), ["a", "b", "c"]);
  end(all, "a");
  end(all, "c");
  assert.deepEqual(all.spawner.takeRequests().slice(-2), ["spawn a 2", "sweep SIGTERM c 1"]);
  assert.deepEqual([all.ids(), all.removed], [["a", "b"], ["c"]]);
  assert.ok(all.supervisor.find("a").next("start") !== undefined, "its schedule counts again");
});

test("a change of the command restarts the process and resets its restart count", () => {
  const all = running(definition("web"));
  all.supervisor.apply([definition("web")], renewed("web"));
  assert.deepEqual(all.takeNotices(), ["web changed cmd: restarts"]);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGTERM web 1"]);
  end(all, "web");
  assert.deepEqual(all.spawner.takeRequests(), ["sweep SIGTERM web 1", "spawn web 2"]);
  assert.equal(all.supervisor.find("web").states[0]?.restarts, 0);
});

test("a changed command brings a pending restart forward; a process that is being stopped stays stopped", () => {
  const all = running(definition("crashes", {}, { restartDelayMs: 60_000 }), definition("stopped"));
  all.spawner.exit("crashes", 1);
  all.supervisor.find("stopped").stop();
  all.spawner.takeRequests();
  const definitions = [definition("crashes", {}, { restartDelayMs: 60_000 }), definition("stopped")];
  all.supervisor.apply(definitions, new Map([...renewed("crashes"), ...renewed("stopped")]));
  assert.deepEqual(all.takeNotices(), ["crashes changed cmd: restarts", "stopped changed cmd: runs on"]);
  end(all, "stopped");
  assert.deepEqual(all.spawner.takeRequests(), ["spawn crashes 2", "sweep SIGTERM stopped 1"]);
});

test("a changed command starts a failed process, but not one that finished, was stopped or never started", () => {
  const all = running(
    definition("failed", {}, { restart: "never" }),
    definition("finished"),
    definition("stopped"),
    definition("manual", { autostart: false }),
  );
  all.spawner.exit("failed", 1);
  all.spawner.exit("finished", 0);
  all.supervisor.find("stopped").stop();
  end(all, "stopped");
  all.spawner.takeRequests();
  const ids = ["failed", "finished", "stopped", "manual"];
  all.supervisor.apply(
    [
      definition("failed", {}, { restart: "never" }),
      definition("finished"),
      definition("stopped"),
      definition("manual", { autostart: false }),
    ],
    new Map(ids.flatMap((id) => [...renewed(id)])),
  );
  assert.deepEqual(all.spawner.takeRequests(), ["spawn failed 2"]);
  assert.deepEqual(
    all.takeNotices().map((line) => line.replace(" changed cmd", "")),
    ["failed: starts", "finished: none", "stopped: none", "manual: none"],
  );
});

test("a blocked process is not restarted, and this is reported", () => {
  const all = running(definition("web"));
  all.supervisor.find("web").block();
  all.takeNotices();
  all.supervisor.apply([definition("web")], renewed("web"));
  assert.deepEqual([all.takeNotices(), all.spawner.takeRequests()], [["web changed cmd: blocked"], []]);
  all.spawner.exit("web", 1);
  all.supervisor.apply([definition("web")], renewed("web"));
  assert.deepEqual([all.takeNotices(), all.spawner.takeRequests()], [["web changed cmd: none"], []]);
});

test("overlapping runs are restarted in their slots; removing the process stops all of them", () => {
  const many = definition("many", { autostart: false, overrun: true, cron: "* * * * *" });
  const all = running(many);
  for (const slot of ["many", "many:2"]) {
    all.clock.advance(60_000);
    all.spawner.up(slot);
  }
  all.spawner.takeRequests();
  all.supervisor.apply([many], renewed("many"));
  assert.deepEqual(all.spawner.takeRequests(), ["SIGTERM many 1", "SIGTERM many:2 2"]);
  end(all, "many");
  end(all, "many:2");
  all.spawner.up("many");
  all.spawner.up("many:2");
  all.supervisor.apply([]);
  end(all, "many");
  assert.deepEqual(all.ids(), ["many"]);
  end(all, "many:2");
  assert.deepEqual(all.ids(), []);
});

test("a stricter timeout applies to the current run from its start; a removed timeout drops the deadline", () => {
  const all = running(definition("web"), definition("late"));
  all.clock.advance(5_000);
  const strict = (id: string, timeoutMs: number): ProcessDefinition => definition(id, {}, { timeoutMs });
  all.supervisor.apply([strict("web", 8_000), strict("late", 4_000)], new Map([...eased("web"), ...eased("late")]));
  assert.deepEqual(all.takeNotices(), ["web changed timeout: runs on", "late changed timeout: runs on"]);
  all.clock.advance(0);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGTERM late 1"]);
  all.clock.advance(2_999);
  assert.deepEqual(all.spawner.takeRequests(), []);
  all.supervisor.apply([strict("web", 0), strict("late", 4_000)], eased("web"));
  all.clock.advance(20_000);
  assert.deepEqual(all.spawner.takeRequests(), []);
});

test("new stop times apply to a stop in progress, counted from its SIGTERM", () => {
  const all = running(definition("web"));
  all.supervisor.find("web").stop();
  all.clock.advance(1_000);
  all.supervisor.apply([definition("web", {}, { terminateMs: 1_500 })], eased("web"));
  all.clock.advance(499);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGTERM web 1"]);
  all.clock.advance(1);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGKILL web 1"]);
});

test('3.3 a changed schedule takes effect immediately, a removed one ends; restart "never" cancels a pending restart', () => {
  const job = (cron?: string): ProcessDefinition =>
    definition("job", { autostart: false, ...(cron === undefined ? {} : { cron }) }, { restart: "never" });
  const all = setup();
  all.supervisor.apply([job("0 5 * * *"), definition("crashes", {}, { restartDelayMs: 100 })]);
  all.spawner.up("crashes");
  all.spawner.exit("crashes", 1);
  all.spawner.takeRequests();
  all.supervisor.apply(
    [job("0 3 * * *"), definition("crashes", {}, { restart: "never" })],
    new Map([...eased("job"), ...eased("crashes")]),
  );
  assert.equal(all.supervisor.find("job").next("start"), all.start + 3 * HOUR);
  all.clock.advance(3 * HOUR);
  assert.deepEqual(all.spawner.takeRequests(), ["spawn job 1"]);
  all.supervisor.apply([job()], eased("job"));
  all.clock.advance(48 * HOUR);
  assert.deepEqual(all.spawner.takeRequests(), []);
});

test("turning autostart on starts a process that never ran", () => {
  const all = setup();
  all.supervisor.apply([definition("web", { autostart: false })]);
  all.supervisor.apply([definition("web")], eased("web"));
  assert.deepEqual([all.takeNotices(), all.spawner.takeRequests()], [["web changed timeout: starts"], ["spawn web 1"]]);
});

test("restored processes are adopted under the old definition and continue under the new one; removed ones are stopped by the old", () => {
  const before = [
    definition("same"),
    definition("changed"),
    definition("old", {}, { terminateMs: 200 }),
    definition("waits", {}, { restartDelayMs: 1 }),
  ];
  const all = setup(
    {
      same: { blocked: true, slots: { same: up() } },
      changed: { blocked: false, slots: { changed: up() } },
      old: { blocked: false, slots: { old: up() } },
      waits: {
        blocked: false,
        slots: { waits: { status: "backoff", run: 2, restarts: 5, until: 9_000, ending: failed } },
      },
    },
    before,
  );
  all.supervisor.apply(
    [definition("same"), definition("changed"), definition("waits"), definition("new")],
    renewed("changed"),
  );
  assert.deepEqual(all.spawner.takeRequests(), [
    "adopt alive same 4",
    "adopt alive changed 4",
    "adopt alive old 4",
    "SIGTERM old 4",
    "SIGTERM changed 4",
    "spawn new 1",
  ]);
  assert.ok(all.supervisor.find("same").isBlocked);
  all.clock.advance(200);
  assert.deepEqual(all.spawner.takeRequests(), ["SIGKILL old 4"]);
  all.clock.advance(7_800);
  assert.deepEqual(all.spawner.takeRequests(), ["spawn waits 3"]);
  assert.equal(all.supervisor.find("waits").states[0]?.restarts, 6);
});

test("a restored process that was being removed is still removed, unless the configuration has it again", () => {
  const stopping: SlotState = {
    status: "stopping",
    phase: "terminate",
    run: 4,
    restarts: 0,
    pid: 50,
    started: 1,
    since: 900,
    next: "idle",
    cause: "operator",
  };
  const snapshots = {
    old: { blocked: false, slots: { old: stopping } },
    back: { blocked: false, slots: { back: stopping } },
  };
  const all = setup(snapshots, [definition("old"), definition("back")], ["old", "back"]);
  all.supervisor.apply([definition("back")]);
  assert.deepEqual(all.takeNotices(), []);
  end(all, "old");
  end(all, "back");
  assert.deepEqual(all.spawner.takeRequests(), [
    "adopt alive old 4",
    "adopt alive back 4",
    "sweep SIGTERM old 4",
    "sweep SIGTERM back 4",
    "spawn back 5",
  ]);
  assert.deepEqual([all.ids(), all.removed], [["back"], ["old"]]);
});

test("if only an overlapping run is left, no second copy starts, and the next overlapping run gets another name", () => {
  const many = definition("many", { overrun: true, cron: "* * * * *" });
  const all = setup({ many: { blocked: false, slots: { "many:3": up() } } }, [many]);
  all.supervisor.apply([many]);
  assert.deepEqual(all.spawner.takeRequests(), ["adopt alive many:3 4"]);
  all.clock.advance(120_000);
  assert.deepEqual(all.spawner.takeRequests(), ["spawn many 5", "spawn many:2 6"]);
});

test("a run that was requested but never started is requested again, under the current definition", () => {
  const asked: ProcessSnapshot = { blocked: false, slots: { web: { status: "starting", run: 3, restarts: 1 } } };
  const all = setup({ web: asked }, [definition("web")]);
  all.supervisor.apply([definition("web")]);
  all.spawner.lose("web");
  assert.deepEqual(all.spawner.takeRequests(), ["adopt asked web 3", "spawn web 3"]);
  all.spawner.up("web");
  assert.deepEqual(all.status("web"), ["running"]);
});

test("an operator's restart in progress is completed by the next service", () => {
  const first = running(definition("web"));
  first.supervisor.find("web").restart();
  const snapshot = JSON.parse(JSON.stringify(first.spawner.snapshots.get("web"))) as ProcessSnapshot;
  const next = setup({ web: snapshot }, [definition("web")]);
  next.supervisor.apply([definition("web")]);
  end(next, "web");
  assert.deepEqual(next.spawner.takeRequests(), ["adopt alive web 1", "sweep SIGTERM web 1", "spawn web 2"]);
});

test("a schedule that was missed while procman was down is reported once, and not made up for", () => {
  const job = definition("job", { autostart: false, cron: "0 * * * *" }, { restart: "never" });
  const web = definition("web", { terminate: "30 * * * *" });
  const first = running(job, web);
  const snapshots = Object.fromEntries(
    ["job", "web"].map((id) => [id, JSON.parse(JSON.stringify(first.spawner.snapshots.get(id))) as ProcessSnapshot]),
  );
  assert.deepEqual(snapshots.job?.planned, { start: first.start + HOUR }, "also of a process that has never run");
  const planned = (start: number): ProcessSnapshot => ({ ...(snapshots.job as ProcessSnapshot), planned: { start } });
  const all = setup({ web: snapshots.web as ProcessSnapshot, job: planned(first.start - 2 * HOUR) }, [job, web]);
  all.supervisor.apply([job, web]);
  assert.deepEqual(all.takeNotices(), ["job missed start 3 from -2"]);
  assert.deepEqual(all.spawner.takeRequests(), ["adopt alive web 1"]);
  assert.equal(
    (all.spawner.snapshots.get("job") as ProcessSnapshot).planned?.start,
    all.start + HOUR,
    "the next service doesn't say it again",
  );
  const late = setup({ web: { ...(snapshots.web as ProcessSnapshot), planned: { terminate: all.start - HOUR / 2 } } }, [
    web,
  ]);
  assert.deepEqual(late.takeNotices(), ["web missed terminate 1 from -0.5"]);
  assert.deepEqual(late.spawner.takeRequests(), ["adopt alive web 1"]);
  const idle = { blocked: false, slots: {}, planned: { terminate: all.start - HOUR } };
  assert.deepEqual(
    setup({ web: idle }, [web]).takeNotices(),
    [],
    "a process that wasn't running has missed no termination",
  );
});

test("2.2 cron: a job that a service started is not started again by the next one after a small step of the clock back", () => {
  const job = definition("job", { autostart: false, cron: "* * * * * *" }, { restart: "never" });
  const first = setup();
  first.supervisor.apply([job]);
  first.clock.advance(1_010);
  assert.deepEqual(first.spawner.takeRequests(), ["spawn job 1"]);
  first.spawner.up("job");
  end(first, "job");
  const snapshot = JSON.parse(JSON.stringify(first.spawner.snapshots.get("job"))) as ProcessSnapshot;
  const next = setup();
  next.clock.advance(1_020);
  next.clock.jump(-500);
  next.supervisor.resume([job], new Map([["job", snapshot]]), new Set());
  assert.equal(next.supervisor.find("job").next("start"), next.start + 2_000);
});

test("the next scheduled time is stored after a skipped run and after the clock was set back", () => {
  const all = running(definition("web", { cron: "0 * * * *" }));
  const remembered = (): number =>
    ((all.spawner.snapshots.get("web") as ProcessSnapshot).planned?.start ?? Number.NaN) - all.start;
  all.clock.advance(HOUR);
  assert.deepEqual([all.takeNotices(), remembered()], [["web skipped"], 2 * HOUR]);
  all.supervisor.find("web").block();
  all.clock.advance(HOUR);
  assert.equal(remembered(), 3 * HOUR);
  all.clock.jump(-24 * HOUR);
  all.clock.advance(60_000);
  assert.equal(remembered(), -21 * HOUR);
});

test("timeouts, delays and deadlines are independent of the wall clock", () => {
  for (const jump of [7 * HOUR, -7 * HOUR]) {
    const all = running(
      definition("slow", {}, { timeoutMs: 10_000, terminateMs: 5_000 }),
      definition("crashes", {}, { restartDelayMs: 10_000 }),
    );
    all.spawner.exit("crashes", 1);
    all.clock.jump(jump);
    all.clock.advance(9_999);
    assert.deepEqual(all.spawner.takeRequests(), []);
    all.clock.advance(1);
    assert.deepEqual(all.spawner.takeRequests().toSorted(), ["SIGTERM slow 1", "spawn crashes 2"]);
    all.clock.jump(-jump);
    all.clock.advance(4_999);
    assert.deepEqual(all.spawner.takeRequests(), []);
    all.clock.advance(1);
    assert.deepEqual(all.spawner.takeRequests(), ["SIGKILL slow 1"]);
  }
});

test("a scheduled termination comes once when the clock is set ahead, and not again when it is set back", () => {
  const web = definition("web", { terminate: "0 3 * * *" }, { restart: "always" });
  const all = running(web);
  all.clock.jump(5 * HOUR);
  all.clock.advance(30_000);
  assert.deepEqual([all.takeNotices(), all.spawner.takeRequests()], [["web terminated"], ["SIGTERM web 1"]]);
  end(all, "web");
  all.spawner.up("web");
  all.clock.jump(-3 * HOUR);
  all.clock.advance(2 * HOUR);
  assert.deepEqual(all.takeNotices(), []);
});

test("a disposed supervisor holds no timer and ignores all reports", () => {
  const all = running(
    definition("web", { cron: "* * * * *", terminate: "0 * * * *" }, { timeoutMs: 5_000 }),
    definition("crashes", {}, { restartDelayMs: 9 }),
  );
  all.spawner.exit("crashes", 1);
  all.supervisor.dispose();
  assert.equal(all.clock.armed, 0);
  const before = all.spawner.snapshots.get("web");
  all.spawner.exit("web", 1);
  all.clock.advance(HOUR);
  assert.deepEqual([all.spawner.takeRequests(), all.clock.armed], [[], 0]);
  assert.equal(all.spawner.snapshots.get("web"), before, "the snapshot for the next service is unchanged");
});
