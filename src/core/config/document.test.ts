import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Document, parseDocument, showPath } from "./document.ts";

/** Line and column of a value, or of its key. */
const at = ({ place }: Document, ...args: Parameters<Document["place"]>) =>
  (({ line, column }) => ({ line, column }))(place(...args));
const syntax = (source: string) =>
  parseDocument(source).syntax.map(({ line, column, message }) => `${line}:${column} ${message}`);

test("comments, trailing commas, tabs and CRLF are read", () => {
  const { data, syntax } = parseDocument('{\r\n\t// c\r\n\t"a": [1, /* d */ 2,],\r\n}\r\n');
  assert.deepEqual({ data, syntax }, { data: { a: [1, 2] }, syntax: [] });
});

test("places count from 1, in UTF-16 units as editors do, whatever the line ends are", () => {
  const document = parseDocument('{\r\n\t"é中": 1,\r  "b": {\n"c": 2 } }');
  assert.deepEqual(at(document, ["é中"]), { line: 2, column: 8 });
  assert.deepEqual(at(document, ["é中"], "key"), { line: 2, column: 2 });
  assert.deepEqual(at(document, ["b", "c"]), { line: 4, column: 6 });
});

test("the place of a missing value is that of the enclosing one", () => {
  const document = parseDocument('{ "a": [{ "b": 1 }] }');
  assert.deepEqual(at(document, ["a", 0, "id"]), { line: 1, column: 9 });
  assert.deepEqual(at(document, ["a", 7]), { line: 1, column: 8 });
});

test("a duplicate key is reported at its second place", () => {
  const document = parseDocument('{ "a": 1,\n  "a": 2 }');
  assert.deepEqual(
    document.faults.map(({ line, column, path }) => ({ line, column, path })),
    [{ line: 2, column: 3, path: "a" }],
  );
  assert.deepEqual(at(document, ["a"]), { line: 2, column: 8 });
});

test("__proto__ is a key like any other", () => {
  const { data } = parseDocument('{ "__proto__": { "x": 1 } }');
  assert.equal(Object.getPrototypeOf(data), Object.prototype);
  assert.deepEqual(Object.keys(data as object), ["__proto__"]);
});

test("several syntax errors are reported at once, in words", () => {
  assert.deepEqual(syntax('{\n  "a": 1\n  "b": tru,\n  c: 2\n}'), [
    '3:3 Found `"b"`; expected a "," between two entries.',
    '4:3 Found `c`; expected a key in double quotes, such as "name".',
  ]);
  assert.deepEqual(syntax("{ 'a': 1 }"), ["1:3 Found `'a'`; expected double quotes: JSON has no single quotes."]);
  assert.deepEqual(syntax('{ "a": flase }'), [
    '1:8 Found `flase`; expected a value: a string in double quotes, a number, true, false, null, an object or an array. Did you mean "false"?',
  ]);
  assert.deepEqual(syntax('{ "a": [1 }'), ['1:11 Found `}`; expected a "]" that closes the array.']);
  assert.deepEqual(syntax('{ "a": 1'), ['1:9 Found the end of the file; expected a "}" that closes the object.']);
  assert.deepEqual(syntax('{ "a": "x\n}'), [
    '1:8 Found `"x`; expected a string that ends with a double quote on the same line.',
  ]);
  assert.match(syntax("/* x").join(), /expected a comment that ends with \*\//);
});

test("a string without its closing quote is one error, whatever commas and brackets it has swallowed", () => {
  const unclosed = (written: string, place: string) =>
    `${place} Found \`${written}\`; expected a string that ends with a double quote on the same line.`;
  assert.deepEqual(syntax('{\n  "a": "x,\n  "b": 2\n}'), [unclosed('"x,', "2:8")]);
  assert.deepEqual(syntax('{\n  "a: 1,\n  "b": 2\n}'), [unclosed('"a: 1,', "2:3")]);
  assert.deepEqual(syntax('{ "a": [\n{ "b": "c },\n{ "b": "d" }\n]}'), [unclosed('"c },', "2:8")]);
  assert.deepEqual(syntax('{ "a": [\n{ "b": "c }\n]}'), [unclosed('"c }', "2:8")]);
  // An unreadable word is another error.
  assert.equal(syntax('{\n  "a": "x,\n  "b": tru,\n  "c": "y\n}').length, 3);
});

test("an empty file is reported as such", () => {
  assert.match(syntax(" \n\t").join(), /^1:1 Found nothing: the file is empty/);
});

test("brackets nested too deeply are refused, and don't crash", () => {
  assert.match(syntax("[".repeat(200_000)).join(), /nested too deeply/);
  const nested = (levels: number): string => `[${"[".repeat(levels - 1)}\n${"]".repeat(levels)}`;
  assert.deepEqual(syntax(nested(200)), []);
  for (const levels of [201, 1_900, 4_000]) {
    const found = "1:201 Found brackets nested too deeply to be read; allowed: 200 levels.";
    assert.deepEqual(syntax(nested(levels)), [found], `${levels} levels`);
    assert.match(syntax(`${nested(levels)} x`).join(), /nested too deeply/, `${levels} levels, and a fault`);
  }
});

test("many faults, an unclosed string and many spaces are read in linear time", () => {
  const texts = [" ,", '"\\', '"\\\n', " ", "5 x 6\n", '"k":1,\n'].map(
    (part) => (times: number) => `{"a":[${part.repeat(times)},}`,
  );
  for (const text of texts) {
    const [few, many] = [4_000, 32_000].map((times) => {
      const before = process.cpuUsage();
      parseDocument(text(times));
      return process.cpuUsage(before).user / 1_000;
    }) as [number, number];
    // Eight times as much text: 64 times as long if it were quadratic.
    assert.ok(many < 500 + 24 * few, `${few} and ${many} ms: ${JSON.stringify(text(2))}`);
  }
});

test("property: any text is read without a throw, and every fault lies within it", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc
      .array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"a"', "1", "//", "/*", "\n", "\r\n", "tru", "'", "\\", " "))
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(text, (source) => {
      const lines = source.split(/\r\n|\r|\n/);
      for (const { line, column } of parseDocument(source).syntax) {
        assert.ok(line >= 1 && line <= lines.length);
        assert.ok(column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1);
      }
    }),
    { numRuns: 2000 },
  );
});

test("paths read as in JavaScript", () => {
  assert.equal(showPath(["processes", 0, "env", "A-B"]), 'processes[0].env["A-B"]');
  assert.equal(showPath([]), "");
});
