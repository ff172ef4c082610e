import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { BackendState } from "../contract/balancer-protocol.ts";
import { type Backend, Backends } from "./backends.ts";

const specs = (states: readonly BackendState[]) => states.map((state, index) => ({ id: `web-${index + 1}`, port: 3_000 + index, state }));
const proven = (...states: readonly BackendState[]): Backends => {
  const backends = new Backends("round-robin");
  backends.set("round-robin", specs(states));
  for (const backend of backends.all) backends.accepts(backend);
  return backends;
};
const nextIds = (backends: Backends, count: number): readonly (string | undefined)[] =>
  Array.from({ length: count }, () => backends.next("10.0.0.1")?.id);

test("whoever has come up gets connections once it was seen to accept", () => {
  const backends = new Backends("round-robin");
  backends.set("round-robin", specs(["up", "up"]));
  assert.equal(backends.next(""), undefined);
  assert.deepEqual(
    backends.unproven.map(({ id }) => id),
    ["web-1", "web-2"],
  );
  backends.accepts(backends.all[1] as Backend);
  assert.deepEqual(nextIds(backends, 2), ["web-2", "web-2"]);
});

test("who is draining, down or out gets none, and its share is spread over the others", () => {
  const backends = proven("up", "draining", "down", "up", "up");
  const ids = nextIds(backends, 9);
  assert.deepEqual(new Set(ids), new Set(["web-1", "web-4", "web-5"]));
  for (const id of ["web-1", "web-4", "web-5"]) assert.equal(ids.filter((each) => each === id).length, 3);
  backends.refused(backends.all[0] as Backend);
  assert.deepEqual(new Set(nextIds(backends, 6)), new Set(["web-4", "web-5"]));
});

test("one that stays up keeps what is known of it when others change; one that comes up anew, or elsewhere, is not trusted", () => {
  const backends = proven("up", "up", "up");
  backends.set("round-robin", [
    { id: "web-1", port: 3_000, state: "up" },
    { id: "web-2", port: 4_000, state: "up" },
    { id: "web-3", port: 3_002, state: "down" },
  ]);
  assert.deepEqual(nextIds(backends, 2), ["web-1", "web-1"]);
  backends.set("round-robin", specs(["up", "up", "up"]));
  assert.deepEqual(
    backends.unproven.map(({ id }) => id),
    ["web-2", "web-3"],
  );
});

test("whatever happens in whatever order, counts are those of what is open, and only the eligible with room are chosen", () => {
  const strategies = fc.constantFrom("round-robin", "least-connections", "ip-hash");
  const step = fc.record({
    act: fc.constantFrom("next", "connected", "refused", "closed", "accepts", "set"),
    which: fc.nat(100),
    states: fc.array(fc.constantFrom<BackendState>("up", "draining", "down"), { minLength: 3, maxLength: 3 }),
  });
  fc.assert(
    fc.property(strategies, fc.array(step, { maxLength: 120 }), fc.constantFrom(undefined, 1, 3), (strategy, steps, limit) => {
      const backends = new Backends(strategy);
      const set = (states: readonly BackendState[]): void => backends.set(strategy, specs(states), limit);
      const hasRoom = ({ isEligible, connections }: Backend): boolean => isEligible && connections < (limit ?? 1_000);
      set(["up", "up", "up"]);
      const attempts: Backend[] = [];
      const open: Backend[] = [];
      for (const { act, which, states } of steps) {
        const pick = (list: Backend[]): Backend | undefined => list.splice(which % Math.max(1, list.length), 1)[0];
        if (act === "set") set(states);
        else if (act === "accepts") backends.accepts(backends.all[which % 3] as Backend);
        else if (act === "next") {
          const free = backends.all.filter(hasRoom);
          assert.equal(backends.hasRoom, free.length > 0);
          const chosen = backends.next(`10.0.0.${which}`);
          assert.ok(chosen === undefined ? free.length === 0 : free.includes(chosen));
          if (chosen !== undefined) attempts.push(chosen);
        } else {
          const backend = pick(act === "closed" ? open : attempts);
          if (backend === undefined) continue;
          backends[act](backend);
          if (act === "connected") open.push(backend);
        }
        for (const backend of backends.all) {
          assert.equal(backend.attempts, attempts.filter((each) => each === backend).length);
          assert.equal(backend.report().connections, open.filter((each) => each === backend).length);
        }
      }
      assert.equal(
        backends.isSettling,
        attempts.some(({ state }) => state !== "up"),
      );
    }),
  );
});
