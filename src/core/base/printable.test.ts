import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableBytes, printableJson, printableLine, printableOutput } from "./printable.ts";

test("control characters are shown, tabs and other characters stay", () => {
  assert.equal(
    printable("\u001b]0;OWNED\u0007 \u009b2J\u007f\u0000\rä€😀\tend\n"),
    "\\x1b]0;OWNED\\x07 \\x9b2J\\x7f\\x00\\x0dä€😀\tend\n",
  );
  assert.equal(printableLine("one\ntwo\u001b[31m"), "one\\x0atwo\\x1b[31m");
});

test("colors of output stay where they are wanted, and are left out elsewhere; nothing else passes", () => {
  const output = "\u001b[1;38:5:9mred\u001b[0m \u001b[2J\u001b[31K\u001b[?25l \u001b[m";
  assert.equal(printableOutput(output, true), "\u001b[1;38:5:9mred\u001b[0m \\x1b[2J\\x1b[31K\\x1b[?25l \u001b[m");
  assert.equal(printableOutput(output, false), "red \\x1b[2J\\x1b[31K\\x1b[?25l ");
});

test("a carriage return overwrites nothing, and is left out at the end of a line", () => {
  assert.equal(printableOutput("10 %\r20 %\r\r\nend\r", true), "10 %\\x0d20 %\nend");
  assert.equal(printableBytes("10 %\r20 %\r\nend\r\n", true), "10 %\\x0d20 %\nend\n");
});

test("characters that change the direction of text are shown, in texts and in bytes", () => {
  const marks = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff";
  const shown = [...marks].map((mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  assert.equal(printableLine(`a${marks}b`), `a${shown}b`);
  assert.equal(printableOutput(`a${marks}b`, true), `a${shown}b`);
  const bytes = Buffer.from(`\u001b[31ma${marks}b\u200d\u05d0\n`).toString("latin1");
  assert.equal(Buffer.from(printableBytes(bytes, true), "latin1").toString(), `\u001b[31ma${shown}b\u200d\u05d0\n`);
});

test("JSON for a terminal is the same JSON, and no character of it acts", () => {
  const value = { text: "a\u0000\u007f\u0085\u009b2J\u202e\u2028\u{1f600}ä", list: [1] };
  const text = printableJson(value, 2);
  assert.deepEqual(JSON.parse(text), value);
  assert.equal(printable(text), text);
  assert.match(text, /\\u007f\\u0085\\u009b2J\\u202e\\u2028\u{1f600}ä/u);
});

test("bytes that are not control characters stay as they are", () => {
  const bytes = Buffer.from([0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xff, 0x80, 0xf0, 0x9f, 0x98, 0x80, 0x0a]).toString(
    "latin1",
  );
  assert.equal(printableBytes(bytes, false), bytes);
  assert.equal(printableBytes(`${bytes}\u001b[2J\xc2\x9b1m\n`, false), `${bytes}\\x1b[2J\\x9b1m\n`);
});
