import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type BackendState, STRATEGIES } from "../ipc/balancer-protocol.ts";
import { type Backend, type BackendCandidate, Backends, choose, seedOf } from "./backends.ts";

const specs = (states: readonly BackendState[]) =>
  states.map((state, index) => ({ id: `web-${index + 1}`, port: 3_000 + index, state }));
const proven = (...states: readonly BackendState[]): Backends => {
  const backends = new Backends("round-robin");
  backends.set("round-robin", specs(states));
  for (const backend of backends.all) backends.accepts(backend);
  return backends;
};
const nextIds = (backends: Backends, count: number): readonly (string | undefined)[] =>
  Array.from({ length: count }, () => backends.next("10.0.0.1")?.id);

test("a backend that has come up gets connections once the health check has connected to it", () => {
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

test("a backend that is draining, down or out gets no connection, and its share is spread over the others", () => {
  const backends = proven("up", "draining", "down", "up", "up");
  const ids = nextIds(backends, 9);
  assert.deepEqual(new Set(ids), new Set(["web-1", "web-4", "web-5"]));
  for (const id of ["web-1", "web-4", "web-5"]) assert.equal(ids.filter((each) => each === id).length, 3);
  backends.refused(backends.all[0] as Backend);
  assert.deepEqual(new Set(nextIds(backends, 6)), new Set(["web-4", "web-5"]));
});

test("a backend that stays up is still trusted when others change; one that comes up again, or on another port, is not", () => {
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

test("after any sequence of events the counts are those of open connections, and only eligible backends with room are chosen", () => {
  const strategies = fc.constantFrom("round-robin", "least-connections", "ip-hash");
  const step = fc.record({
    act: fc.constantFrom("next", "connected", "refused", "closed", "accepts", "set"),
    which: fc.nat(100),
    states: fc.array(fc.constantFrom<BackendState>("up", "draining", "down"), { minLength: 3, maxLength: 3 }),
  });
  fc.assert(
    fc.property(
      strategies,
      fc.array(step, { maxLength: 120 }),
      fc.constantFrom(undefined, 1, 3),
      (strategy, steps, limit) => {
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
      },
    ),
  );
});

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}-[0-9]{1,3}$/), { minLength: 1, maxLength: 12 });
const address = fc.oneof(fc.ipV4(), fc.ipV6());
const candidatesOf = (names: readonly string[]): readonly BackendCandidate[] =>
  names.map((id) => ({ seed: seedOf(id), connections: 0, elsewhere: 0 }));
const hashed = (names: readonly string[], client: string): string =>
  names[choose["ip-hash"]({ candidates: candidatesOf(names), turn: 0, address: client })] as string;

test("every strategy chooses one of the candidates", () => {
  fc.assert(
    fc.property(fc.constantFrom(...STRATEGIES), ids, fc.nat(), address, (strategy, names, turn, client) => {
      const index = choose[strategy]({ candidates: candidatesOf(names), turn, address: client });
      assert.ok(Number.isInteger(index) && index >= 0 && index < names.length);
    }),
  );
});

test("round robin gives each backend the same share", () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 20 }), (names, rounds) => {
      const counts = names.map(() => 0);
      for (let turn = 0; turn < rounds * names.length; turn++) {
        const index = choose["round-robin"]({ candidates: candidatesOf(names), turn, address: "" });
        counts[index] = (counts[index] ?? 0) + 1;
      }
      assert.deepEqual(
        counts,
        names.map(() => rounds),
      );
    }),
  );
});

test("least connections chooses the backend with the fewest, those that count elsewhere included, and takes equals in turn", () => {
  const candidate = fc.record({ seed: fc.constant(0), connections: fc.nat(50), elsewhere: fc.nat(50) });
  fc.assert(
    fc.property(fc.array(candidate, { minLength: 1, maxLength: 20 }), fc.nat(), (candidates, turn) => {
      const loads = candidates.map(({ connections, elsewhere }) => connections + elsewhere);
      assert.equal(loads[choose["least-connections"]({ candidates, turn, address: "" })], Math.min(...loads));
    }),
  );
  const equals = [0, 1, 2].map((elsewhere) => ({ seed: 0, connections: 4 - elsewhere, elsewhere }));
  assert.deepEqual(
    [0, 1, 2, 3].map((turn) => choose["least-connections"]({ candidates: equals, turn, address: "" })),
    [0, 1, 2, 0],
  );
});

test("ip-hash: a client always gets the same backend, and a lost backend moves only its own clients", () => {
  fc.assert(
    fc.property(ids, fc.nat(), address, (names, which, client) => {
      const chosen = hashed(names, client);
      assert.equal(hashed(names.toReversed(), client), chosen);
      const lost = names[which % names.length];
      const rest = names.filter((id) => id !== lost);
      if (lost !== chosen && rest.length > 0) assert.equal(hashed(rest, client), chosen);
    }),
  );
});

test("ip-hash spreads clients evenly, IPv4 and IPv6, and treats a mapped IPv4 address as the IPv4 address", () => {
  const names = ["web-1", "web-2", "web-3", "web-4"];
  for (const network of ["10.0.0.", "192.168.7.", "2001:db8::"]) {
    const counts = new Map<string, number>();
    for (let client = 0; client < 4_000; client++) {
      const suffix = network.includes(":") ? client.toString(16) : `${client >> 8}.${client & 255}`;
      const chosen = hashed(names, network + suffix);
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
    }
    for (const id of names)
      assert.ok(Math.abs((counts.get(id) ?? 0) - 1_000) < 150, `${network} ${id} ${counts.get(id)}`);
  }
  assert.equal(hashed(names, "::ffff:10.1.2.3"), hashed(names, "10.1.2.3"));
});
