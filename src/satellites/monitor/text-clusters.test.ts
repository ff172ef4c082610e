/** Widths of text in a terminal. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { clustersOf, fromColumn, loadWidths, widthOf, wrappedTo } from "./text-clusters.ts";

before(loadWidths);

test("what a reader sees as one character is one, with the columns that it takes", () => {
  const widths = [
    ["a", 1],
    ["é", 1],
    ["e\u0301", 1],
    ["日", 2],
    ["👍", 2],
    ["👩‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["한", 2],
  ] as const;
  for (const [text, width] of widths) assert.deepEqual(clustersOf(text), [{ text, width }]);
});

test("control characters and marks that turn the direction of the text are shown, not passed on; other marks without a width are left out", () => {
  assert.equal(
    clustersOf("a\u001b[2J\u009b\0\n")
      .map(({ text }) => text)
      .join(""),
    "a\\x1b[2J\\x9b\\x00\\x0a",
  );
  assert.equal(widthOf("abc\u200b"), 3);
  assert.equal(
    clustersOf("a\u202eb")
      .map(({ text }) => text)
      .join(""),
    "a\\u202eb",
  );
});

test("a tab goes to the next multiple of eight columns", () => {
  assert.equal(widthOf("日\tb"), 9);
  assert.equal(widthOf("\t\t"), 16);
});

test("a hundred marks on one letter are one character that can't be read", () => {
  assert.deepEqual(clustersOf(`a${"\u0301".repeat(100)}b`), [
    { text: "\ufffd", width: 1 },
    { text: "b", width: 1 },
  ]);
});

test("the text from a column on: half a character is a blank", () => {
  assert.equal(fromColumn("a日b", 0), "a日b");
  assert.equal(fromColumn("a日b", 1), "日b");
  assert.equal(fromColumn("a日b", 2), " b");
  assert.equal(fromColumn("a日b", 9), "");
});

test("lines are broken between words; words that are too long within them", () => {
  assert.deepEqual(wrappedTo("one two three", 8), ["one two ", "three"]);
  assert.deepEqual(wrappedTo("abcdefgh", 3), ["abc", "def", "gh"]);
  assert.deepEqual(wrappedTo("日本語 text", 6), ["日本語", "text"]);
  assert.deepEqual(wrappedTo(" 👍日本", 5), [" ", "👍日", "本"]);
  assert.deepEqual(wrappedTo("", 6), [""]);
});

test("wrapped lines fit, and have all characters but blanks", () => {
  const text = fc
    .array(fc.constantFrom("a", "bc", " ", "日本", "👍", "e\u0301", "-"), { maxLength: 40 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 12 }), (given, room) => {
      const lines = wrappedTo(given, room);
      for (const line of lines) assert.ok(widthOf(line) <= room, JSON.stringify(lines));
      assert.equal(lines.join("").replaceAll(" ", ""), given.replaceAll(" ", ""));
    }),
    { numRuns: 1_000 },
  );
});
