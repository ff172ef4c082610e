/** How the processes of the balancer share connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Load, planMigration } from "./rebalancer.ts";

test("a process that has all busy connections gives half of them to one that has none", () => {
  const loads = [
    { cpu: 0, busy: 0, room: 100 },
    { cpu: 0.8, busy: 40, room: 100 },
  ];
  assert.deepEqual(planMigration(loads), { from: 1, to: 0, count: 20 });
});

test("of several processes the least loaded gets connections of the most loaded", () => {
  const loads = [
    { cpu: 0.5, busy: 30, room: 100 },
    { cpu: 0.9, busy: 60, room: 100 },
    { cpu: 0.3, busy: 20, room: 100 },
  ];
  assert.deepEqual(planMigration(loads), { from: 1, to: 2, count: 20 });
});

test("nothing migrates where the load is low or about even, or a single connection is the load", () => {
  for (const loads of [
    [],
    [{ cpu: 1, busy: 100, room: 100 }],
    [
      { cpu: 0.19, busy: 100, room: 100 },
      { cpu: 0, busy: 0, room: 100 },
    ],
    [
      { cpu: 0.9, busy: 50, room: 100 },
      { cpu: 0.81, busy: 10, room: 100 },
    ],
    [
      { cpu: 0.9, busy: 1, room: 100 },
      { cpu: 0, busy: 0, room: 100 },
    ],
  ])
    assert.equal(planMigration(loads), undefined);
});

test("a process without room gets no connection", () => {
  const loads = [
    { cpu: 0.9, busy: 40, room: 5 },
    { cpu: 0, busy: 0, room: 3 },
  ];
  assert.deepEqual(planMigration(loads), { from: 0, to: 1, count: 3 });
  assert.equal(planMigration(loads.map((load) => ({ ...load, room: 0 }))), undefined);
});

test("where the CPUs are saturated the numbers of connections are evened", () => {
  const loads = [
    { cpu: 0.6, busy: 55, room: 100 },
    { cpu: 0.4, busy: 9, room: 100 },
  ];
  assert.deepEqual(planMigration(loads), { from: 0, to: 1, count: 23 });
});

test("a migration never reverses the order: the source keeps at least as much load, or as many connections, as the target has then", () => {
  const load: fc.Arbitrary<Load> = fc.record({
    cpu: fc.double({ min: 0, max: 1, noNaN: true }),
    busy: fc.nat(5_000),
    room: fc.integer({ min: -5, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(load, { maxLength: 4 }), (loads) => {
      const migration = planMigration(loads);
      if (migration === undefined) return;
      const { from, to, count } = migration;
      const [source, target] = [loads[from] ?? assert.fail(), loads[to] ?? assert.fail()];
      assert.ok(from !== to && count >= 1 && count <= Math.min(32, source.busy / 2, target.room));
      const moved = (source.cpu / source.busy) * count;
      assert.ok(source.cpu - moved >= target.cpu + moved - 1e-9 || source.busy - count >= target.busy + count);
    }),
  );
});
