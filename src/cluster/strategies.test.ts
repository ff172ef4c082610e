import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { STRATEGIES } from "../contract/balancer-protocol.ts";
import { type Candidate, choose, seedOf } from "./strategies.ts";

const ids = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}-[0-9]{1,3}$/), { minLength: 1, maxLength: 12 });
const address = fc.oneof(fc.ipV4(), fc.ipV6());
const candidatesOf = (names: readonly string[]): readonly Candidate[] => names.map((id) => ({ seed: seedOf(id), connections: 0 }));
const hashed = (names: readonly string[], client: string): string =>
  names[choose["ip-hash"]({ candidates: candidatesOf(names), turn: 0, address: client })] as string;

test("every strategy chooses one of those that are there", () => {
  fc.assert(
    fc.property(fc.constantFrom(...STRATEGIES), ids, fc.nat(), address, (strategy, names, turn, client) => {
      const index = choose[strategy]({ candidates: candidatesOf(names), turn, address: client });
      assert.ok(Number.isInteger(index) && index >= 0 && index < names.length);
    }),
  );
});

test("round robin gives all the same share", () => {
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

test("least connections chooses nobody who has more than another, and takes equals in turn", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 20 }), fc.nat(), (loads, turn) => {
      const candidates = loads.map((connections) => ({ seed: 0, connections }));
      assert.equal(loads[choose["least-connections"]({ candidates, turn, address: "" })], Math.min(...loads));
    }),
  );
  const equals = [0, 1, 2].map(() => ({ seed: 0, connections: 4 }));
  assert.deepEqual(
    [0, 1, 2, 3].map((turn) => choose["least-connections"]({ candidates: equals, turn, address: "" })),
    [0, 1, 2, 0],
  );
});

test("ip-hash: a client always gets the same backend, and one that is lost moves only its own clients", () => {
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

test("ip-hash spreads clients evenly, IPv4 and IPv6, and takes a mapped IPv4 address for what it is", () => {
  const names = ["web-1", "web-2", "web-3", "web-4"];
  for (const network of ["10.0.0.", "192.168.7.", "2001:db8::"]) {
    const counts = new Map<string, number>();
    for (let client = 0; client < 4_000; client++) {
      const suffix = network.includes(":") ? client.toString(16) : `${client >> 8}.${client & 255}`;
      const chosen = hashed(names, network + suffix);
      counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
    }
    for (const id of names) assert.ok(Math.abs((counts.get(id) ?? 0) - 1_000) < 150, `${network} ${id} ${counts.get(id)}`);
  }
  assert.equal(hashed(names, "::ffff:10.1.2.3"), hashed(names, "10.1.2.3"));
});
