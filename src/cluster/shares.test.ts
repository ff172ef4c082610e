/** How the processes of the balancer share connections: issue 5, "Build" 2. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Load, NO_LOAD, spread, transferOf } from "./shares.ts";

const load: fc.Arbitrary<Load> = fc.record({
  cpu: fc.double({ min: 0, max: 1, noNaN: true }),
  busy: fc.nat(5_000),
  fresh: fc.nat(500),
  room: fc.integer({ min: -5, max: 100 }),
});

test("a process that has all busy connections gives half of them to one that has none", () => {
  const loads = [
    { cpu: 0, busy: 0, fresh: 0, room: 100 },
    { cpu: 0.8, busy: 40, fresh: 0, room: 100 },
  ];
  assert.deepEqual(transferOf(loads), { from: 1, to: 0, count: 20 });
});

test("of several the least loaded gets what the most loaded gives", () => {
  const loads = [
    { cpu: 0.5, busy: 30, fresh: 0, room: 100 },
    { cpu: 0.9, busy: 60, fresh: 0, room: 100 },
    { cpu: 0.3, busy: 20, fresh: 0, room: 100 },
  ];
  assert.deepEqual(transferOf(loads), { from: 1, to: 2, count: 20 });
});

test("nothing moves where all keep up easily, are about even, or a single connection is the load", () => {
  for (const loads of [
    [],
    [{ cpu: 1, busy: 100, fresh: 0, room: 100 }],
    [
      { cpu: 0.19, busy: 100, fresh: 0, room: 100 },
      { cpu: 0, busy: 0, fresh: 0, room: 100 },
    ],
    [
      { cpu: 0.9, busy: 50, fresh: 0, room: 100 },
      { cpu: 0.81, busy: 10, fresh: 0, room: 100 },
    ],
    [
      { cpu: 0.9, busy: 1, fresh: 0, room: 100 },
      { cpu: 0, busy: 0, fresh: 0, room: 100 },
    ],
  ])
    assert.equal(transferOf(loads), undefined);
});

test("who may have no more connections gets none", () => {
  const loads = [
    { cpu: 0.9, busy: 40, fresh: 0, room: 5 },
    { cpu: 0, busy: 0, fresh: 0, room: 3 },
  ];
  assert.deepEqual(transferOf(loads), { from: 0, to: 1, count: 3 });
  assert.equal(transferOf(loads.map((load) => ({ ...load, room: 0 }))), undefined);
});

test("a transfer never turns the odds: the giver keeps at least as much as the taker has then", () => {
  fc.assert(
    fc.property(fc.array(load, { maxLength: 4 }), (loads) => {
      const transfer = transferOf(loads);
      if (transfer === undefined) return;
      const { from, to, count } = transfer;
      const [giver, taker] = [loads[from] ?? assert.fail(), loads[to] ?? assert.fail()];
      assert.ok(from !== to && count >= 1 && count <= Math.min(32, giver.busy / 2, taker.room));
      const moved = (giver.cpu / giver.busy) * count;
      assert.ok(giver.cpu - moved >= taker.cpu + moved - 1e-9);
    }),
  );
});

test("newcomers are spread by number, those of before stay where they are", () => {
  const of = (busy: number, fresh: number, room = 100): Load => ({ ...NO_LOAD, busy, fresh, room });
  assert.deepEqual(spread([of(0, 50), of(0, 14)]), [{ from: 0, to: 1, count: 18 }]);
  assert.deepEqual(spread([of(0, 14), of(10, 4)]), []);
  assert.deepEqual(spread([of(40, 6), of(0, 0)]), [{ from: 0, to: 1, count: 6 }]);
  assert.deepEqual(spread([of(40, 0), of(0, 8)]), []);
  assert.deepEqual(spread([of(0, 30, 0), of(0, 0, 4)]), [{ from: 0, to: 1, count: 4 }]);
  assert.deepEqual(spread([of(0, 60), of(0, 0), of(0, 0)]), [
    { from: 0, to: 1, count: 30 },
    { from: 0, to: 2, count: 15 },
  ]);
  assert.deepEqual(spread([of(0, 3), of(0, 1)]), []);
  assert.deepEqual(spread([]), []);
});

test("no spread gives away more than has come, or takes more than there is room for, or turns the odds", () => {
  fc.assert(
    fc.property(fc.array(load, { maxLength: 4 }), (loads) => {
      const now = loads.map((each) => ({ ...each }));
      for (const { from, to, count } of spread(loads)) {
        const [giver, taker] = [now[from] ?? assert.fail(), now[to] ?? assert.fail()];
        assert.ok(from !== to && count >= 2 && count <= 32);
        giver.fresh -= count;
        taker.busy += count;
        taker.room -= count;
        assert.ok(giver.fresh >= 0 && taker.room >= 0 && giver.busy + giver.fresh >= taker.busy + taker.fresh);
      }
    }),
  );
});
