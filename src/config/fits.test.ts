/** The quick look at the shape of a configuration agrees with zod. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fits } from "./fits.ts";
import { configuration } from "./schema.ts";
import type { Shape } from "./shape.ts";
import { validateConfiguration } from "./validate.ts";
import { judge } from "./zod-schema.ts";

const TEXTS = [
  "a",
  "web.1",
  "10MB",
  "2GiB",
  "0.5h",
  "unlimited",
  "max",
  "{port}",
  "027",
  "https://a.org",
  "",
  " ",
  "A",
  "..",
  "\0",
  "=",
  "always",
];
const NUMBERS = [0, 1, 3, 9, 10, 19, 20, -20, -21, 0.001, 0.1, 1.5, 366, 1024, 65_535, 65_536, 1e6, 2 ** 53, -0, 1e308];
const word = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ maxLength: 5 }), fc.constant(`sha256-${"A".repeat(43)}=`));
const amount = fc.oneof(fc.constantFrom(...NUMBERS), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer());
const any = fc.jsonValue({ maxDepth: 2 });

/** Values that have this shape, or nearly. */
function near(shape: Shape): fc.Arbitrary<unknown> {
  switch (shape.kind) {
    case "text":
      return word.filter((text) => shape.pattern?.test(text) ?? true);
    case "number":
      return fc.oneof(
        fc.constantFrom(shape.least, shape.most),
        amount.map((number) => Math.min(shape.most, Math.max(shape.least, shape.whole ? Math.round(number) : number))),
      );
    case "boolean":
      return fc.boolean();
    case "words":
      return fc.constantFrom(...shape.words);
    case "literal":
      return fc.constant(shape.only);
    case "union":
      return fc.oneof(...shape.branches.map(near));
    case "list":
      return fc.array(near(shape.item), { minLength: shape.ofNone === undefined ? 0 : 1, maxLength: 3 });
    case "object": {
      const required = Object.keys(shape.members).filter((key) => shape.members[key]?.kind !== "optional");
      return fc.record(Object.fromEntries(Object.entries(shape.members).map(([key, member]) => [key, near(member)])), {
        requiredKeys: required,
        noNullPrototype: true,
      });
    }
    case "record":
      return fc.dictionary(near(shape.key) as fc.Arbitrary<string>, near(shape.item), { maxKeys: 3, noNullPrototype: true });
    case "optional":
      return near(shape.inner);
    case "anything":
      return any;
    default:
      return shape satisfies never;
  }
}

/** All objects and lists in it. */
function places(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(places)];
}

type Damage = {
  readonly at: number;
  readonly key: number;
  readonly by: unknown;
  readonly how: "change" | "nudge" | "remove" | "add";
  readonly name: string;
};
const damage: fc.Arbitrary<Damage> = fc.record({
  at: fc.nat(50),
  key: fc.nat(50),
  by: fc.oneof(any, word, amount),
  how: fc.constantFrom("change", "nudge", "remove", "add"),
  name: fc.oneof(fc.constantFrom("id", "cmd", "env", "cluster", "port", "timeout", "size", "__proto__", "constructor", "length"), word),
});

function damaged(value: unknown, { at, key, by, how, name }: Damage): void {
  const all = places(value);
  const place = all[at % all.length] as Record<string, unknown>;
  const keys = Object.keys(place);
  const chosen = keys[key % Math.max(1, keys.length)] ?? "0";
  if (how === "nudge") place[chosen] = nudged(place[chosen]);
  else if (Array.isArray(place)) place[Number(chosen)] = by;
  else if (how === "remove") delete place[chosen];
  else Object.defineProperty(place, how === "add" ? name : chosen, { value: by, enumerable: true, configurable: true, writable: true });
}

function nudged(value: unknown): unknown {
  if (typeof value === "number") return value + 0.5;
  return typeof value === "string" ? value.slice(1) : value;
}

const copied = (data: unknown): unknown => JSON.parse(JSON.stringify(data));

test("2.2: what has the shape is what zod takes, and as it is", () => {
  fc.assert(
    fc.property(near(configuration), (data) => {
      const plain = copied(data);
      assert.ok(fits(plain, configuration));
      assert.deepEqual(judge(plain), { config: plain, issues: [] });
    }),
    { numRuns: 300 },
  );
});

test("2.2: of damaged data it takes what zod takes, and nothing else", () => {
  const taken = { fit: 0, unfit: 0 };
  fc.assert(
    fc.property(near(configuration), fc.array(damage, { minLength: 1, maxLength: 3 }), (data, damages) => {
      const broken = copied(data);
      for (const each of damages) damaged(broken, each);
      const plain = copied(broken);
      const { issues } = judge(plain);
      const quick = fits(plain, configuration);
      // A key that is `__proto__` is left to zod.
      if (places(plain).some((place) => Object.hasOwn(place, "__proto__"))) assert.ok(!quick || issues.length === 0);
      else assert.equal(quick, issues.length === 0, JSON.stringify(issues));
      taken[quick ? "fit" : "unfit"] += 1;
    }),
    { numRuns: 1_500 },
  );
  assert.ok(taken.fit > 50 && taken.unfit > 50, JSON.stringify(taken));
});

test("2.2: the data of a program that uses the library stay its own", () => {
  const data = {
    processes: [{ id: "a", cmd: "b", path: ["/c"], env: { D: "e", F: { file: "f" } }, watch: ["src"], logger: { rotate: { size: 1 } } }],
    plugins: [{ url: "./x.js", options: { a: { b: [1] } } }],
    api: { revoked: ["g"] },
    watcher: { exts: ["ts"] },
  };
  validateConfiguration(data);
  assert.ok(![data, ...places(data)].some(Object.isFrozen));
});
