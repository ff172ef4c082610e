/** How the processes of the balancer share connections: issue 5, "Build" 2. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Load, transferOf } from "./shares.ts";

test("a process that has all busy connections gives half of them to one that has none", () => {
  const loads = [
    { cpu: 0, busy: 0, room: 100 },
    { cpu: 0.8, busy: 40, room: 100 },
  ];
  assert.deepEqual(transferOf(loads), { from: 1, to: 0, count: 20 });
});

test("of several the least loaded gets what the most loaded gives", () => {
  const loads = [
    { cpu: 0.5, busy: 30, room: 100 },
    { cpu: 0.9, busy: 60, room: 100 },
    { cpu: 0.3, busy: 20, room: 100 },
  ];
  assert.deepEqual(transferOf(loads), { from: 1, to: 2, count: 20 });
});

test("nothing moves where all keep up easily, are about even, or a single connection is the load", () => {
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
    assert.equal(transferOf(loads), undefined);
});

test("who may have no more connections gets none", () => {
  const loads = [
    { cpu: 0.9, busy: 40, room: 5 },
    { cpu: 0, busy: 0, room: 3 },
  ];
  assert.deepEqual(transferOf(loads), { from: 0, to: 1, count: 3 });
  assert.equal(transferOf(loads.map((load) => ({ ...load, room: 0 }))), undefined);
});

test("where CPU time has come to an end connections are evened, as each gets the less the more there are beside it", () => {
  const loads = [
    { cpu: 0.6, busy: 55, room: 100 },
    { cpu: 0.4, busy: 9, room: 100 },
  ];
  assert.deepEqual(transferOf(loads), { from: 0, to: 1, count: 23 });
});

test("a transfer never turns the odds: the giver keeps at least as much, or as many, as the taker has then", () => {
  const load: fc.Arbitrary<Load> = fc.record({
    cpu: fc.double({ min: 0, max: 1, noNaN: true }),
    busy: fc.nat(5_000),
    room: fc.integer({ min: -5, max: 100 }),
  });
  fc.assert(
    fc.property(fc.array(load, { maxLength: 4 }), (loads) => {
      const transfer = transferOf(loads);
      if (transfer === undefined) return;
      const { from, to, count } = transfer;
      const [giver, taker] = [loads[from] ?? assert.fail(), loads[to] ?? assert.fail()];
      assert.ok(from !== to && count >= 1 && count <= Math.min(32, giver.busy / 2, taker.room));
      const moved = (giver.cpu / giver.busy) * count;
      assert.ok(giver.cpu - moved >= taker.cpu + moved - 1e-9 || giver.busy - count >= taker.busy + count);
    }),
  );
});
