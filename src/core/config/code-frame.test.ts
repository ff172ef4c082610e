import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { codeFrame, type Frame, sourceLines, width } from "./code-frame.ts";

const frameOf = (source: string, line: number, column: number): Frame => codeFrame(sourceLines(source), line, column);

test("the carets stand under the whole value", () => {
  assert.deepEqual(frameOf('{\n  "restart": "allways"\n}', 2, 14), {
    text: '  "restart": "allways"',
    carets: "             ^^^^^^^^^",
  });
});

test("for an object or a list, one caret stands under its bracket", () => {
  assert.equal(frameOf('[{ "a": 1 }]', 1, 2).carets, " ^");
});

test("tabs stay tabs, so that the carets are right for any tab width", () => {
  assert.deepEqual(frameOf('\t"a":\t5', 1, 7), { text: '\t"a":\t5', carets: "\t    \t^" });
});

test("wide characters count two columns, combining ones none", () => {
  assert.equal(frameOf('"中": 5', 1, 6).carets, "      ^");
  assert.equal(frameOf('"e\u0301": 5', 1, 7).carets, "     ^");
  assert.equal(frameOf('"\u{1f600}": 5', 1, 7).carets, "      ^");
});

test("all line ends count: \\r\\n, \\r and \\n", () => {
  assert.equal(frameOf("a\r\nb\rc\nd", 4, 1).text, "d");
});

test("a long line is cut around the place; with the number of the line it fits into 80 columns", () => {
  const source = `{ "a": "${"x".repeat(500)}", "b": 5 }`;
  const { text, carets } = frameOf(source, 1, source.indexOf("5") + 1);
  assert.ok(text.length + "  100 | ".length <= 80 && text.startsWith("…"));
  assert.equal(text[carets.length - 1], "5");
});

test("escape sequences of the file don't reach the terminal", () => {
  assert.equal(frameOf('"\u001b[31mred\u009b"', 1, 1).text, '"·[31mred·"');
});

test("property: any place in any text gives carets within the line, and never throws", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\t", "\r\n", "\n", "中", '"', "{", "\u{1f600}", "e\u0301", "x".repeat(120)),
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((pieces) => pieces.join("")),
      fc.integer({ min: -2, max: 20 }),
      fc.integer({ min: -2, max: 300 }),
      (source, line, column) => {
        const { text, carets } = frameOf(source, line, column);
        assert.match(carets, /^[\t ]*\^+$/);
        assert.ok(carets.length <= Math.max(1, width(text)), JSON.stringify({ text, carets }));
      },
    ),
    { numRuns: 2000 },
  );
});
