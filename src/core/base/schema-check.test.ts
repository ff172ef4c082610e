/** The check of values against schemas, held against a second evaluator. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  asJson,
  damage,
  inflict,
  type Json,
  objectsIn,
  refusalOf,
  valuesOf,
} from "../../../test/support/json-schema.ts";
import { configuration } from "../config/config-schema.ts";
import { resolveConfiguration } from "../config/validate.ts";
import {
  boolean,
  enumeration,
  integer,
  list,
  literal,
  map,
  object,
  openObject,
  optional,
  standardSchema,
  string,
  union,
} from "./schema.ts";
import { faultsOf, matches, type Path, violations } from "./schema-check.ts";

const schema = configuration as Json;

/** The value there, and whether there is one. */
function at(value: unknown, path: Path): { readonly value?: unknown } | undefined {
  let inside = value;
  for (const step of path) {
    if (typeof inside !== "object" || inside === null || !Object.hasOwn(inside, step)) return undefined;
    inside = (inside as Record<string | number, unknown>)[step];
  }
  return { value: inside };
}

test("2.2 values generated from the schema of the configuration are valid for both evaluators", () => {
  fc.assert(
    fc.property(valuesOf(schema), (value) => {
      const data = asJson(value);
      assert.equal(refusalOf(data, schema), undefined);
      assert.ok(matches(data, configuration));
      assert.deepEqual(violations(data, configuration), []);
    }),
    { numRuns: 300 },
  );
});

test("2.2 damaged data are accepted exactly if the reference evaluator accepts them; each violation has an existing place and the value found", () => {
  const taken = { valid: 0, damaged: 0 };
  fc.assert(
    fc.property(valuesOf(schema), fc.array(damage, { minLength: 1, maxLength: 3 }), (value, damages) => {
      const broken = asJson(value);
      for (const each of damages) inflict(broken, each);
      const data = asJson(broken);
      const found = violations(data, configuration);
      const refusal = refusalOf(data, schema);
      assert.equal(found.length === 0, refusal === undefined, refusal ?? JSON.stringify(found[0]));
      assert.equal(matches(data, configuration), found.length === 0);
      taken[found.length === 0 ? "valid" : "damaged"] += 1;
      for (const { path, keyword, found: actual } of found) {
        const there = at(data, path);
        if (keyword === "required") assert.equal(there, undefined);
        else assert.ok(there !== undefined, JSON.stringify(path));
        if (keyword === "propertyNames") assert.equal(actual, path.at(-1));
        else assert.deepEqual(actual, there?.value);
      }
    }),
    { numRuns: 1_500 },
  );
  assert.ok(taken.valid > 50 && taken.damaged > 50, JSON.stringify(taken));
});

test("2.2 validation doesn't freeze the data of a program that uses the library", () => {
  const data = {
    processes: [
      {
        id: "a",
        cmd: "b",
        path: ["/c"],
        env: { D: "e", F: { file: "f" } },
        watch: ["src"],
        logger: { rotate: { size: 1 } },
      },
    ],
    plugins: [{ url: "./x.js", options: { a: { b: [1] } } }],
    api: { revoked: ["g"] },
    watcher: { exts: ["ts"] },
  };
  resolveConfiguration(data);
  assert.ok(![data, ...objectsIn(data)].some(Object.isFrozen));
});

const sample = object({
  kind: literal("a"),
  size: union([integer({ minimum: 1 }), literal("max")]),
  tags: optional(list(string({ pattern: "^[a-z]+$" }), { minItems: 1, maxItems: 2 })),
  env: optional(map(boolean(), { propertyNames: string({ maxLength: 3 }) })),
  open: optional(openObject({ word: enumeration(["yes", "no"]) })),
});
const good = { kind: "a", size: "max", tags: ["x"], env: { A: true }, open: { word: "no", more: 1 } };

test("all faults are reported at once, each with its place", () => {
  assert.ok(matches(good, sample));
  const bad = { kind: "b", tags: ["x", "Y"], env: { ABCD: true, B: 1 }, open: { word: "yess" }, opne: 1 };
  assert.deepEqual(
    faultsOf(bad, sample, "body").map(({ place, message }) => `${place} ${message}`),
    [
      "body.size is missing",
      'body.kind must be "a", not "b"',
      'body.tags[1] must match ^[a-z]+$, not "Y"',
      "body.env.ABCD is not an allowed name",
      "body.env.B must be a boolean, not 1",
      'body.open.word must be one of yes, no, not "yess". Did you mean "yes"?',
      'body.opne is not known. Did you mean "open"?',
    ],
  );
});

test("among alternatives, the alternative of the right type determines the message", () => {
  const messages = (size: unknown): readonly string[] =>
    faultsOf({ ...good, size }, sample, "").map(({ message }) => message);
  assert.deepEqual(messages(0), ["must be 1 or more, not 0"]);
  assert.deepEqual(messages("most"), ['must be "max", not "most"']);
  assert.deepEqual(messages(true), ['must be a whole number or "max", not true']);
});

test("a member that is undefined counts as absent", () => {
  assert.ok(matches({ ...good, tags: undefined }, sample));
  assert.deepEqual(
    violations({ ...good, size: undefined }, sample).map(({ keyword }) => keyword),
    ["required"],
  );
});

test("an exported schema has only keywords of the standard", () => {
  const inner = string({ allowed: "a word" });
  const all = object({
    a: union([inner, list(inner)], { allowed: "words" }),
    b: optional(map(inner, { propertyNames: inner })),
  });
  assert.ok(!JSON.stringify(standardSchema(all)).includes("allowed"));
  assert.deepEqual(standardSchema(object({ allowed: inner })).properties, { allowed: { type: "string" } });
});
