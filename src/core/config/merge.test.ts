import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { difference, layerWith, merge } from "./merge.ts";

const LEAF = fc.oneof(fc.integer(), fc.constantFrom("a", false, [1], [{ x: 1 }]));
/** Parts in which a key is an object always or never: only these can be merged in any grouping. */
const part = fc.record(
  {
    timeout: LEAF,
    env: fc.dictionary(fc.constantFrom("A", "B", "__proto__"), fc.constantFrom("1", { file: "a" }, { env: "X" }), {
      noNullPrototype: true,
    }),
    logger: fc.record(
      { stdout: LEAF, rotate: fc.record({ size: LEAF, gzip: LEAF }, { requiredKeys: [], noNullPrototype: true }) },
      { requiredKeys: [], noNullPrototype: true },
    ),
    ready: fc.oneof(
      fc.record({ port: fc.nat() }, { noNullPrototype: true }),
      fc.record({ log: fc.string(), timeout: fc.nat() }, { requiredKeys: ["log"], noNullPrototype: true }),
      fc.record({ timeout: fc.nat() }, { noNullPrototype: true }),
    ),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const program = fc.constantFrom({}, { cmd: "a" }, { cmd: "b" }, { worker: "w" });
const fields = fc.tuple(part, program).map(([members, run]) => ({ ...members, ...run }));

test("merging is associative where a key is an object in each part or in none, and no part has null", () => {
  fc.assert(
    fc.property(fields, fields, fields, (a, b, c) => {
      assert.deepEqual(merge(merge(a, b), c), merge(a, merge(b, c)));
    }),
  );
});

test("an empty part changes nothing, and a part laid over itself neither", () => {
  fc.assert(
    fc.property(fields, (one) => {
      assert.deepEqual([merge({}, one), merge(one, {}), merge(one, one)], [one, one, one]);
    }),
  );
});

test("the difference of two parts, merged over the first as a profile, gives the second", () => {
  fc.assert(
    fc.property(fields, fields, (base, wanted) => {
      assert.deepEqual(
        merge(base, difference(base, wanted), () => true),
        wanted,
      );
    }),
  );
});

test("null takes away what is there; where nothing is, it stays, unless it may be there", () => {
  const base = { a: 1, logger: { stdout: "x" } };
  assert.deepEqual(merge(base, { a: null, logger: { stdout: null } }), { logger: {} });
  assert.deepEqual(merge(base, { b: null, logger: { c: null } }), {
    ...base,
    b: null,
    logger: { stdout: "x", c: null },
  });
  assert.deepEqual(
    merge(base, { b: null, env: { c: null } }, () => true),
    { ...base, env: {} },
  );
});

test("names that every object has are keys like others", () => {
  const odd = JSON.parse('{ "__proto__": { "a": 1 }, "constructor": { "b": 2 } }') as object;
  assert.deepEqual(merge({}, odd), odd);
  assert.deepEqual(
    merge(odd, JSON.parse('{ "__proto__": { "c": 3 } }')),
    JSON.parse('{ "__proto__": { "a": 1, "c": 3 }, "constructor": { "b": 2 } }'),
  );
});

test("a value is found in the last layer that has it, a missing one where its section is", () => {
  const [low, high] = [
    { data: { env: { A: 1 }, cluster: {} }, path: ["defaults"] },
    { data: { env: { B: 1 } }, path: ["processes", 0] },
  ];
  const where = (...path: readonly string[]): unknown => layerWith([low, high], path)?.path;
  assert.deepEqual(where("env", "A"), low.path);
  assert.deepEqual(where("env", "C"), high.path);
  assert.deepEqual(where("cluster", "instances"), low.path);
  assert.equal(where("cmd"), undefined);
});
