/** Colors of programs in the log pane. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cellStyleOf, coloredText } from "./colored-text.ts";

test("sequences of SGR become styles at their places, all others text", () => {
  assert.deepEqual(coloredText("a\u001b[1;31mb\u001b[0mc\u001b[2J\r\n\r"), {
    text: "abc\\x1b[2J\\x0a",
    colors: [
      { at: 1, style: { bold: true, color: 1 } },
      { at: 2, style: {} },
    ],
  });
  assert.deepEqual(coloredText("plain\u0000"), { text: "plain\\x00" });
  assert.deepEqual(
    coloredText("\u001b[31m\u001b[32m\u001b[5;8mx").colors,
    [{ at: 0, style: { color: 2 } }],
    "no blinking, nothing hidden",
  );
});

test("a line of nothing but colors costs little", () => {
  const { text, colors = [] } = coloredText("\u001b[31mx".repeat(100_000));
  assert.equal(text.length, 100_000);
  assert.ok(colors.length <= 500);
});

test("styles of cells: colors of the theme, of the palette of 256, of 24 bits; with NO_COLOR attributes alone", () => {
  const styles = [
    { color: 1 },
    { color: 9 },
    { color: 196 },
    { background: 4 },
    { background: 12 },
    { background: "#0102ff" },
  ] as const;
  assert.deepEqual(
    styles.map((style) => cellStyleOf(style, true)),
    ["31", "91", "38;5;196", "44", "104", "48;2;1;2;255"],
  );
  assert.equal(cellStyleOf({ bold: true, dim: true, italic: true, underline: true, color: 3 }, false), "1;2;3;4");
});
