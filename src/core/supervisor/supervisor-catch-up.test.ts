/** Scheduled starts that were missed while procman was away, and are made up for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock, FakeSpawner, POLICY } from "../../../test/support/fakes.ts";
import type { ProcessDefinition } from "./definition.ts";
import type { LastingRequests } from "./process-ports.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import { Supervisor } from "./supervisor.ts";

process.env.TZ = "UTC";
const HOUR = 3_600_000;
const JOB: ProcessDefinition = {
  ...{ id: "job", autostart: false, overrun: false, cron: "0 * * * *", catchUp: true },
  policy: { ...POLICY, restart: "never" },
};

/** A machine on which one service after another runs; what the keeper has noted ends with a reboot. */
function machine(definition = JOB) {
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const start = clock.wall();
  const stored = new Map<string, number>();
  const lasting: LastingRequests = {
    isDisabled: () => false,
    setDisabled: () => undefined,
    plannedStart: ({ id }) => stored.get(id),
    planStart: ({ id }, planned) => void stored.set(id, planned),
  };
  const said: string[] = [];
  let supervisor: Supervisor | undefined;
  const begin = (snapshots: ReadonlyMap<string, ProcessSnapshot>): void => {
    supervisor = new Supervisor({
      ...{ clock, spawner, lasting },
      publish: () => undefined,
      removed: () => undefined,
      notice: (_, notice) => {
        if (notice.type === "missed") said.push(`missed ${notice.times}${notice.isMadeUpFor ? ", made up for" : ""}`);
        else if (notice.type === "scheduled" || notice.type === "skipped")
          said.push(`${notice.type} ${(notice.planned - start) / HOUR}`);
      },
    });
    supervisor.resume([definition], snapshots);
    supervisor.apply([definition]);
  };
  return {
    ...{ clock, spawner, stored },
    job: () => (supervisor as Supervisor).find("job"),
    said: () => said.splice(0),
    kill: () => supervisor?.dispose(),
    /** The next service, with what the keeper has noted. */
    resume: () => begin(new Map(spawner.snapshots)),
    /** After a shutdown or a reboot: without notes. */
    boot: () => {
      spawner.snapshots.clear();
      begin(new Map());
    },
    end: () => {
      spawner.up("job");
      spawner.exit("job", 0);
    },
  };
}

test("2.2 cron, catchUp: however many times were missed, the process is started once, and the schedule continues", () => {
  for (const way of ["resume", "boot"] as const) {
    const { clock, spawner, kill, said, job, ...rest } = machine();
    rest.boot();
    kill();
    clock.advance(3.5 * HOUR);
    rest[way]();
    assert.deepEqual([said(), spawner.takeRequests()], [["missed 3, made up for"], []], way);
    assert.equal(job().missed?.times, 3);
    clock.advance(1);
    assert.deepEqual([said(), spawner.takeRequests()], [["scheduled 3"], ["spawn job 1"]], way);
    rest.end();
    clock.advance(HOUR);
    assert.deepEqual([said(), spawner.takeRequests()], [["scheduled 4"], ["spawn job 2"]], way);
    assert.equal(job().missed, undefined, "the next start has come");
  }
});

test("2.2 cron, catchUp: what was made up for is not made up for again", () => {
  const { clock, spawner, boot, kill, said } = machine();
  boot();
  kill();
  clock.advance(2.5 * HOUR);
  boot();
  clock.advance(1);
  assert.deepEqual(spawner.takeRequests(), ["spawn job 1"]);
  kill();
  said();
  boot();
  clock.advance(1);
  assert.deepEqual([said(), spawner.takeRequests()], [[], []]);
});

test("2.2 cron, catchUp: a process that is running is not started again, unless it may overlap; a blocked one isn't started", () => {
  const { clock, spawner, boot, kill, resume, said } = machine();
  boot();
  clock.advance(HOUR);
  spawner.up("job");
  kill();
  clock.advance(HOUR);
  resume();
  clock.advance(1);
  assert.deepEqual(said(), ["scheduled 1", "missed 1, made up for", "skipped 2"]);

  const overlapping = machine({ ...JOB, overrun: true });
  overlapping.boot();
  overlapping.clock.advance(HOUR);
  overlapping.spawner.up("job");
  overlapping.kill();
  overlapping.clock.advance(HOUR);
  overlapping.resume();
  overlapping.clock.advance(1);
  assert.deepEqual(overlapping.spawner.takeRequests(), ["spawn job 1", "adopt alive job 1", "spawn job:2 2"]);

  const blocked = machine();
  blocked.boot();
  blocked.job().block();
  blocked.kill();
  blocked.clock.advance(HOUR);
  blocked.resume();
  blocked.clock.advance(1);
  assert.deepEqual([blocked.said(), blocked.spawner.takeRequests()], [["missed 1, made up for", "skipped 1"], []]);
});

test("2.2 cron, catchUp: the first start of procman, and a process that doesn't want it, make up for nothing", () => {
  const first = machine();
  first.clock.advance(5.5 * HOUR);
  first.boot();
  first.clock.advance(1);
  assert.deepEqual([first.said(), first.spawner.takeRequests()], [[], []]);
  const { catchUp: _, ...plain } = JOB;
  const other = machine(plain);
  other.boot();
  other.kill();
  other.clock.advance(1.5 * HOUR);
  other.resume();
  other.clock.advance(1);
  assert.deepEqual([other.said(), other.spawner.takeRequests(), other.stored.size], [["missed 1"], [], 0]);
});

test("jitter: until its delay is over, a time isn't missed, even after a reboot", () => {
  const { clock, spawner, boot, kill, said } = machine({ ...JOB, startDelayMs: HOUR / 2 });
  boot();
  clock.advance(0.75 * HOUR);
  assert.deepEqual([said(), spawner.takeRequests()], [["scheduled 0"], ["spawn job 1"]]);
  spawner.up("job");
  spawner.exit("job", 0);
  kill();
  clock.advance(HOUR / 2);
  boot();
  assert.deepEqual(said(), []);
  clock.advance(HOUR / 4);
  assert.deepEqual([said(), spawner.takeRequests()], [["scheduled 1"], ["spawn job 1"]]);
});

test("jitter: another delay neither repeats a time nor leaves one out", () => {
  const delayed = (minutes: number): ProcessDefinition => ({ ...JOB, startDelayMs: minutes * 60_000 });
  const clock = new FakeClock();
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    removed: () => undefined,
    notice: () => undefined,
  });
  const apply = (minutes: number): void =>
    supervisor.apply([delayed(minutes)], new Map([["job", { fields: ["jitter"], restart: false }]]));
  apply(10);
  clock.advance(11 * 60_000);
  assert.deepEqual(spawner.takeRequests(), ["spawn job 1"]);
  spawner.up("job");
  spawner.exit("job", 0);
  apply(20);
  clock.advance(HOUR - 12 * 60_000);
  assert.deepEqual(spawner.takeRequests(), [], "midnight was called already");
  clock.advance(16 * 60_000);
  assert.deepEqual(spawner.takeRequests(), [], "one o'clock waits for its delay");
  apply(0);
  clock.advance(1);
  assert.deepEqual(spawner.takeRequests(), ["spawn job 2"], "one o'clock has not been called");
});

const STEPS = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 3 * HOUR }) }),
    fc.record({ kind: fc.constantFrom("resume" as const, "boot" as const), ms: fc.integer({ min: 0, max: 5 * HOUR }) }),
    fc.record({ kind: fc.constantFrom("resume at once" as const, "end" as const), ms: fc.constant(0) }),
  ),
  { maxLength: 30 },
);

test("2.2 cron, catchUp: over kills, reboots and absences no time is started twice, and none is left without a start after it", () => {
  fc.assert(
    fc.property(STEPS, fc.constantFrom(0, 60_000, HOUR / 2), (steps, startDelayMs) => {
      const { clock, spawner, boot, kill, resume, said, end } = machine({ ...JOB, startDelayMs });
      boot();
      const starts: number[] = [];
      const take = (): void => {
        starts.push(
          ...said().flatMap((each) => (/^(?:scheduled|skipped) /.test(each) ? Number(each.split(" ")[1]) : [])),
        );
        spawner.takeRequests();
      };
      for (const { kind, ms } of steps) {
        if (kind === "advance") clock.advance(ms);
        else if (kind === "end") end();
        else {
          kill();
          clock.advance(ms);
          if (kind === "boot") boot();
          else resume();
          if (kind !== "resume at once") clock.advance(1);
        }
        take();
      }
      clock.advance(1);
      take();
      kill();
      assert.deepEqual(
        starts,
        [...new Set(starts)].sort((one, other) => one - other),
        "each once, in order",
      );
      const due = Math.floor((clock.wall() - startDelayMs - Date.UTC(2026, 0, 1)) / HOUR);
      assert.ok(due < 1 || starts.at(-1) === due, `${starts.join(" ")} until ${due}`);
    }),
    { numRuns: 200 },
  );
});
