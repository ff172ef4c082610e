import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../../test/support/fakes.ts";
import { FakeLog, specsOf } from "../../../../test/support/service-fakes.ts";
import type { ScaleSpec } from "../../autoscale/size-schedule.ts";
import { ProcmanError } from "../../base/errors.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { Incident } from "../../contract/run-summary.ts";
import type { SizeDecision } from "../recovery/notes.ts";
import { Autoscaler, type AutoscalerPorts } from "./autoscaler.ts";

const SCALE: ScaleSpec = {
  min: 2,
  max: 8,
  targets: [{ name: "connections", limit: 40 }],
  upAfterMs: 10_000,
  downAfterMs: 300_000,
};

/** A cluster of the fake service, whose clients the test controls. `others`: further ones with the same load, and their instances. */
function rig(scale: Partial<ScaleSpec> = {}, others = new Map<string, number>()) {
  const clock = new FakeClock();
  const log = new FakeLog();
  const state = {
    count: 2,
    connections: 0,
    isRolling: false,
    pinned: false,
    status: "running",
    freeBytes: 1e12,
    serving: 99,
  };
  const faults: ProcmanError[] = [];
  const events: string[] = [];
  const incidents: Incident[] = [];
  let last: SizeDecision | undefined;
  let spec: ScaleSpec = { ...SCALE, ...scale };
  const countOf = (id: string): number => others.get(id) ?? state.count;
  const specsNow = (): readonly Partial<ProcessSpec>[] =>
    ["web", ...others.keys()].flatMap((id) =>
      Array.from({ length: countOf(id) }, (_, index) => ({
        id: `${id}-${index + 1}`,
        cluster: { id, index },
        // A new object at each reading of the file.
        scale: { ...spec },
      })),
    );
  const registry = specsOf(specsNow());
  const applyNow = (): void => {
    registry.replace({ ...registry.config, processes: specsNow() as readonly ProcessSpec[] });
    autoscaler.apply();
  };
  const group = (id: string): ProcessRecord =>
    ({
      id,
      type: "cluster",
      status: state.status,
      blocked: false,
      reason: "it runs",
      instances: Array.from({ length: countOf(id) }, (_, index) => ({
        id: `${id}-${index + 1}`,
        status: index < state.serving ? state.status : "starting",
        restarts: 0,
        memoryBytes: 1e8,
        backend: { accepting: true, connections: state.connections / countOf(id) },
      })),
    }) as unknown as ProcessRecord;
  const ports = {
    log,
    specs: registry,
    supervisor: { find: (id: string) => ({ id }) },
    operations: { refuses: () => state.isRolling },
    records: { group, invalidate: () => undefined },
    events: {
      publishScaled: (id: string, { from, to }: { readonly from: number; readonly to: number }) =>
        events.push(`${id} ${from} ${to}`),
    },
    incidents: {
      write: (incident: Incident) => incidents.push(incident),
      latest: () => incidents.at(-1),
    },
    scaler: {
      scale: (id: string, { instances }: { readonly instances: number }, _caller: object, decision: SizeDecision) => {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
        last = decision;
        if (others.has(id)) others.set(id, instances);
        else state.count = instances;
        applyNow();
      },
      isPinned: () => state.pinned,
      lastDecision: () => last,
    },
    clock,
    freeMemory: () => state.freeBytes,
  } as unknown as AutoscalerPorts;
  const autoscaler = new Autoscaler(ports);
  /** The service is killed; another one goes on. */
  const replaced = (): Autoscaler => {
    autoscaler.retire();
    const next = new Autoscaler(ports);
    next.apply();
    return next;
  };
  const change = (next: Partial<ScaleSpec>): void => {
    spec = { ...spec, ...next };
    applyNow();
  };
  autoscaler.apply();
  const record = (): ProcessRecord["scale"] => autoscaler.decorate(group("web")).scale;
  return { autoscaler, clock, log, state, faults, events, incidents, replaced, change, record, group };
}

test("what the load needs is carried out, with a line, an event and the reason in the record", () => {
  const { clock, log, state, events, record } = rig();
  state.connections = 122;
  clock.advance(10_000);
  assert.equal(state.count, 2);
  assert.equal(record()?.desired, 4);
  clock.advance(1_000);
  assert.equal(state.count, 4);
  assert.deepEqual(log.lines, ["web: scaled from 2 to 4: 61 connections an instance, more than 40 for 10 s"]);
  assert.deepEqual([events, clock.armed], [["web 2 4"], 1]);
  assert.deepEqual(record(), {
    min: 2,
    max: 8,
    desired: 4,
    last: {
      time: "2026-01-01T00:00:11.000Z",
      from: 2,
      to: 4,
      reason: "61 connections an instance, more than 40 for 10 s",
    },
  });
  state.connections = 20;
  clock.advance(299_000);
  assert.equal(state.count, 4);
  clock.advance(2_000);
  assert.equal(state.count, 2);
  assert.equal(log.lines[1], "web: scaled from 4 to 2: 5 connections an instance: 2 instances were enough for 300 s");
});

test("during a rolling restart or a reload nothing is decided, and the time begins again afterwards", () => {
  const { clock, state } = rig();
  state.connections = 122;
  clock.advance(8_000);
  state.isRolling = true;
  clock.advance(20_000);
  state.isRolling = false;
  clock.advance(10_000);
  assert.equal(state.count, 2);
  clock.advance(1_000);
  assert.equal(state.count, 4);
});

test("a number that is pinned by hand, and a cluster that is stopped, stay as they are", () => {
  const { clock, state, record, autoscaler, group } = rig();
  state.connections = 122;
  state.pinned = true;
  clock.advance(60_000);
  assert.deepEqual(record(), { min: 2, max: 8, desired: 2, pinned: true });
  assert.match(autoscaler.decorate(group("web")).reason, /; pinned to 2 by hand$/);
  state.pinned = false;
  state.status = "stopped";
  clock.advance(60_000);
  assert.equal(state.count, 2);
});

test("growth that is refused is reported once, with the reason, until it is over", () => {
  const { clock, log, state, events, record } = rig();
  state.connections = 122;
  state.freeBytes = 5e7;
  clock.advance(60_000);
  const reason =
    "it would need 4, but an instance uses 100 MB of memory, and 50.0 MB are free: 61 connections an instance, more than 40 for 10 s";
  assert.deepEqual(log.lines, [`web: stays at 2: ${reason}`]);
  assert.deepEqual(events, ["web 2 2"]);
  assert.deepEqual(record()?.refused, { time: "2026-01-01T00:00:11.000Z", wanted: 4, reason });
  state.connections = 10;
  clock.advance(2_000);
  assert.equal(record()?.refused, undefined);
  state.connections = 122;
  clock.advance(20_000);
  assert.equal(record()?.refused?.time, "2026-01-01T00:01:13.000Z");
  assert.equal(log.lines.length, 1, "again in a short time");
  state.connections = 10;
  clock.advance(301_000);
  state.connections = 122;
  clock.advance(11_000);
  assert.equal(log.lines.length, 2);
});

test("two clusters that need more in the same second don't count the same free memory, nor before it is taken", () => {
  const others = new Map([["api", 2]]);
  const { clock, state, incidents } = rig({}, others);
  // Room for two instances of 100 MB; each cluster needs two.
  Object.assign(state, { connections: 122, freeBytes: 2.3e8, serving: 2 });
  clock.advance(11_000);
  assert.deepEqual([state.count, others.get("api")], [4, 2]);
  assert.deepEqual(
    incidents.map(({ process, reason }) => [process, reason.includes("more than 40")]),
    [["api", true]],
  );
  // They have yet to serve, and nothing of them is measured.
  clock.advance(20_000);
  assert.equal(others.get("api"), 2);
  Object.assign(state, { serving: 99, freeBytes: 2.3e8 });
  clock.advance(1_000);
  assert.deepEqual([state.count, others.get("api")], [4, 4]);
});

test("refused growth is one incident while it lasts, also after another service has taken over; growth ends it", () => {
  const { clock, state, incidents, replaced } = rig();
  state.connections = 122;
  state.freeBytes = 5e7;
  clock.advance(60_000);
  assert.deepEqual(incidents, [
    {
      time: "2026-01-01T00:00:11.000Z",
      process: "web",
      run: 0,
      cause: "growth-refused",
      reason:
        "stays at 2: it would need 4, but an instance uses 100 MB of memory, and 50.0 MB are free: 61 connections an instance, more than 40 for 10 s",
      decision: "no instance is added",
      lines: [],
      metrics: [],
    },
  ]);
  replaced();
  clock.advance(60_000);
  assert.equal(incidents.length, 1);
  state.freeBytes = 1e12;
  clock.advance(1_000);
  assert.equal(state.count, 4);
  const [, over] = incidents;
  assert.deepEqual(
    [over?.time, over?.ended, over?.decision],
    ["2026-01-01T00:00:11.000Z", "2026-01-01T00:02:01.000Z", "it has 4 instances now"],
  );
  assert.equal(incidents.length, 2);
});

test("refused growth is over when the load needs no more, or decides nothing; within five minutes it goes on", () => {
  const { clock, state, incidents, autoscaler } = rig();
  const told = () =>
    incidents.splice(0).map(({ time, ended, decision }) => [time.slice(14, 19), ended?.slice(14, 19), decision]);
  state.connections = 122;
  state.freeBytes = 5e7;
  clock.advance(12_000);
  state.connections = 10;
  clock.advance(2_000);
  const opened = ["00:11", undefined, "no instance is added"];
  assert.deepEqual(told(), [opened, ["00:11", "00:13", "its load needs no more instances"]]);
  state.connections = 122;
  clock.advance(20_000);
  state.pinned = true;
  clock.advance(1_000);
  assert.deepEqual(told(), [opened, ["00:11", "00:35", "its load decides nothing now"]]);
  state.pinned = false;
  clock.advance(20_000);
  autoscaler.stopped();
  assert.deepEqual(told(), [opened, ["00:11", "00:55", "procman has ended"]]);
});

test("refused growth that is over goes on in another service, too, within five minutes; later it is another one", () => {
  const { clock, state, incidents, replaced } = rig();
  state.connections = 122;
  state.freeBytes = 5e7;
  const refusedFor = (seconds: number): void => {
    state.connections = 122;
    clock.advance(seconds * 1_000);
    state.connections = 10;
    clock.advance(1_000);
  };
  refusedFor(12);
  replaced();
  refusedFor(20);
  assert.deepEqual(new Set(incidents.map(({ time }) => time.slice(14, 19))), new Set(["00:11"]));
  clock.advance(300_000);
  replaced();
  refusedFor(20);
  assert.equal(new Set(incidents.map(({ time }) => time)).size, 2);
});

test("its maximum is no incident", () => {
  const { clock, state, incidents, record } = rig({ max: 2 });
  state.connections = 122;
  clock.advance(60_000);
  assert.match(record()?.refused?.reason ?? "", /has its maximum/);
  assert.deepEqual(incidents, []);
});

test("a refusal of the operation is reported once, and the operation tried again after the same time", () => {
  const { clock, log, state, faults } = rig();
  const fault = new ProcmanError("scale-refused", "Cannot scale: its cmd in procman.jsonc has changed");
  faults.push(fault, fault);
  state.connections = 122;
  clock.advance(11_000);
  assert.deepEqual(log.lines, ["web: stays at 2: Cannot scale: its cmd in procman.jsonc has changed"]);
  clock.advance(10_000);
  assert.deepEqual([log.lines.length, faults.length], [1, 0]);
  faults.push(new ProcmanError("configuration-invalid", "Cannot use procman.json: 1 problem\n\nprocman.json:1:2 x"));
  clock.advance(10_000);
  assert.equal(log.lines[1], 'web: stays at 2: Cannot use procman.json: 1 problem; "procman validate" shows it');
  clock.advance(10_000);
  assert.equal(state.count, 4);
});

test("a target that nobody reports is named in the record, but not while nothing is decided", () => {
  const { clock, state, record } = rig({ targets: [...SCALE.targets, { name: "metric:queue", limit: 5 }] });
  clock.advance(1_000);
  assert.deepEqual(record()?.unknown, ["metric:queue"]);
  state.pinned = true;
  clock.advance(1_000);
  assert.equal(record()?.unknown, undefined);
});

test("schedules set the bounds at their times, also when the wall clock jumps", () => {
  const morning = [
    { pattern: "0 8 * * *", timeZone: "UTC", min: 4 },
    { pattern: "0 18 * * *", timeZone: "UTC" },
  ];
  const { clock, state, log, change, record } = rig({ schedules: morning });
  const { nextSchedule, nextMin, nextMax, timeZone } = record() ?? {};
  assert.deepEqual([nextSchedule, nextMin, nextMax, timeZone], ["2026-01-01T08:00:00.000Z", 4, 8, "UTC"]);
  clock.advance(1_000);
  assert.equal(state.count, 2);
  clock.jump(8 * 3_600_000);
  clock.advance(1_000);
  assert.equal(state.count, 4);
  assert.deepEqual(log.lines, ["web: scaled from 2 to 4: its minimum is 4 (schedule 0 8 * * *)"]);
  change({ max: 3, schedules: [{ pattern: "0 8 * * *", timeZone: "UTC", min: 2 }] });
  clock.advance(1_000);
  assert.equal(log.lines[1], "web: scaled from 4 to 3: its maximum is 3", "the schedule says nothing of it");
  change({ max: 8, schedules: morning });
  clock.advance(1_000);
  clock.jump(-2 * 3_600_000);
  clock.advance(301_000);
  assert.equal(record()?.min, 2);
  assert.equal(state.count, 2);
});

test("a change of the file applies at once, and a cluster without scale is left alone", () => {
  const { clock, state, change, autoscaler } = rig();
  change({ min: 5 });
  clock.advance(1_000);
  assert.equal(state.count, 5);
  autoscaler.end();
  assert.equal(clock.armed, 0);
});

test("without a cluster that is scaled there is no timer", () => {
  const clock = new FakeClock();
  new Autoscaler({ specs: specsOf([{ id: "db" }]), clock } as unknown as AutoscalerPorts).apply();
  assert.equal(clock.armed, 0);
});
