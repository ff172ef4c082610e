/** Output of programs in the browser: colors are shown, everything else is only text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainText, styled } from "./ansi.ts";
import { jsonLines, paletteColor, piecesOf } from "./line-pieces.ts";

test("colors and styles are kept until they are reset", () => {
  assert.deepEqual(styled("a\u001b[1;31mb\u001b[22mc\u001b[0md"), [
    { text: "a", style: {} },
    { text: "b", style: { bold: true, color: 1 } },
    { text: "c", style: { color: 1 } },
    { text: "d", style: {} },
  ]);
  assert.deepEqual(styled("\u001b[38;5;196mx")[0]?.style, { color: 196 });
  assert.deepEqual(styled("\u001b[48;2;1;2;255mx")[0]?.style, { background: "#0102ff" });
  assert.deepEqual(styled("\u001b[38:5:9;4mx")[0]?.style, { color: 9, underline: true });
  assert.deepEqual(
    ["\u001b[38;5;999mx", "\u001b[38mx", "\u001b[38;2;1mx"].map((text) => styled(text)[0]?.style),
    [{}, {}, {}],
  );
  assert.equal(paletteColor(196), "#ff0000");
});

test("controls, other sequences and changes of direction are shown, and do nothing", () => {
  const text = plainText("a\u0000\u001b[2Jb\u001b]0;title\u0007\u202ecba\u2028\u009b1mx\u007f");
  assert.equal(text, "a\u2400\u241b[2Jb\u241b]0;title\u2407<U+202E>cba<U+2028><U+009B>1mx\u2421");
  assert.ok(!/[\0-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/.test(text));
  assert.equal(plainText("tab\tstays, \u001b[1mbold\u001b[0m goes\r"), "tab\tstays, bold goes");
});

test("hits are marked across pieces, ignoring case, and lines are cut", () => {
  const { pieces, hidden } = piecesOf("xTI\u001b[31mME\u001b[0mout", "time", 100);
  assert.deepEqual(
    pieces.map(({ text, isHit }) => (isHit ? `[${text}]` : text)),
    ["x", "[TI]", "[ME]", "out"],
  );
  assert.equal(hidden, 0);
  const long = piecesOf("a".repeat(10_000_000), "a", 2_000);
  assert.deepEqual([long.hidden, long.pieces.length <= 201], [9_998_000, true]);
});

test("JSON objects fold open, other text doesn't", () => {
  assert.deepEqual(jsonLines('{"a":{"b":1}}'), ["{", '  "a": {', '    "b": 1', "  }", "}"]);
  for (const text of ["{", "{}x", "[1]", "{a:1}", "text"]) assert.equal(jsonLines(text), undefined, text);
});
