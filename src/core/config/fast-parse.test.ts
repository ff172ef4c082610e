/** The fast parser agrees with the one that keeps places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseDocument, placedDocument } from "./document.ts";
import { fastParse } from "./fast-parse.ts";

const gap = fc.constantFrom("", " ", "\t", "\n", "\r\n", '/* " */', '// it\'s, "so" ]\n', "/*,]*/ ", "/**/", "//\r");
const key = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom("a", "b", "__proto__", "10", "2", 'q"', "\\", "//", "/*", ",]"),
);
const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc
      .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer(), fc.boolean(), fc.constant(null), key)
      .map((each) => JSON.stringify(each)),
    tie("array"),
    tie("object"),
  ),
  array: fc
    .tuple(fc.array(fc.tuple(gap, tie("value"), gap), { maxLength: 4 }), gap, fc.boolean())
    .map(
      ([items, after, trails]) =>
        `[${items.map((item) => item.join("")).join(",")}${trails && items.length > 0 ? "," : ""}${after}]`,
    ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(key, gap, gap, tie("value"), gap), { maxLength: 4, selector: ([name]) => name }),
      gap,
      fc.boolean(),
    )
    .map(([items, after, trails]) => {
      const inside = items.map(
        ([name, before, between, each, behind]) => `${before}${JSON.stringify(name)}${behind}:${between}${each}`,
      );
      return `{${inside.join(",")}${trails && items.length > 0 ? "," : ""}${after}}`;
    }),
}));

test("2.1: a text without errors, with comments and trailing commas, is read as by the slow parser", () => {
  fc.assert(
    fc.property(gap, value, gap, (before, text, after) => {
      const source = before + text + after;
      const slow = placedDocument(source);
      assert.deepEqual(slow.syntax, []);
      assert.deepEqual(fastParse(source), { data: slow.data });
    }),
    { numRuns: 500 },
  );
});

test("2.1: a text that the fast parser accepts has no error for the slow one either", () => {
  const letter = fc.constantFrom(..."{}[],:\"/*\\ 01-.eatrufls\n\r\t'\u00a0\uFEFF\u2028");
  fc.assert(
    fc.property(
      value,
      fc.array(fc.tuple(fc.nat(200), letter, fc.nat(3)), { minLength: 1, maxLength: 4 }),
      (text, damages) => {
        let source = text;
        for (const [at, put, taken] of damages) {
          const place = at % (source.length + 1);
          source = source.slice(0, place) + put + source.slice(place + taken);
        }
        const quick = fastParse(source);
        if (quick === undefined) return;
        const { data, syntax, faults } = placedDocument(source);
        assert.deepEqual({ data, syntax, faults }, { data: quick.data, syntax: [], faults: [] });
      },
    ),
    { numRuns: 3_000 },
  );
});

test("2.1: it accepts no text with an error: duplicate keys, too many commas, unclosed comments, endless brackets", () => {
  const faulty = [
    '{"a":1,"a":1}',
    '{"a":{"b":1},"a":{}}',
    "[,]",
    "[1,,]",
    "{,}",
    "[1 2]",
    '{"a":,}',
    "1/**/2",
    "[1]/*",
    "// c",
    "",
    "[".repeat(1e5),
  ];
  for (const source of faulty) {
    assert.equal(fastParse(source), undefined, source.slice(0, 20));
    const { syntax, faults } = parseDocument(source);
    assert.ok(syntax.length + faults.length > 0, source.slice(0, 20));
  }
});

test("2.1: places are available afterwards, too", () => {
  const { data, place } = parseDocument('{\n  // c\n  "a": [1, "//",],\n}', "x.json");
  assert.deepEqual(data, { a: [1, "//"] });
  assert.deepEqual(place(["a", 1]), { file: "x.json", line: 3, column: 12, path: ["a", 1] });
  assert.deepEqual(place(["a"], "key"), { file: "x.json", line: 3, column: 3, path: ["a"] });
});
