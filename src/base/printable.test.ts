import assert from "node:assert/strict";
import { test } from "node:test";
import { printable, printableBytes, printableLine, printableOutput } from "./printable.ts";

test("control characters are shown, tabs and other characters stay", () => {
  assert.equal(printable("\u001b]0;OWNED\u0007 \u009b2J\u007f\u0000\rä€😀\tend\n"), "\\x1b]0;OWNED\\x07 \\x9b2J\\x7f\\x00\\x0dä€😀\tend\n");
  assert.equal(printableLine("one\ntwo\u001b[31m"), "one\\x0atwo\\x1b[31m");
});

test("colours of output stay where they are wanted, and are left out elsewhere; nothing else passes", () => {
  const output = "\u001b[1;38:5:9mred\u001b[0m \u001b[2J\u001b[31K\u001b[?25l \u001b[m";
  assert.equal(printableOutput(output, true), "\u001b[1;38:5:9mred\u001b[0m \\x1b[2J\\x1b[31K\\x1b[?25l \u001b[m");
  assert.equal(printableOutput(output, false), "red \\x1b[2J\\x1b[31K\\x1b[?25l ");
});

test("a carriage return overwrites nothing, and is left out at the end of a line", () => {
  assert.equal(printableOutput("10 %\r20 %\r\r\nend\r", true), "10 %\\x0d20 %\nend");
  assert.equal(printableBytes("10 %\r20 %\r\nend\r\n", true), "10 %\\x0d20 %\nend\n");
});

test("bytes that are no control characters stay as they are", () => {
  const bytes = Buffer.from([0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xff, 0x80, 0xf0, 0x9f, 0x98, 0x80, 0x0a]).toString("latin1");
  assert.equal(printableBytes(bytes, false), bytes);
  assert.equal(printableBytes(`${bytes}\u001b[2J\xc2\x9b1m\n`, false), `${bytes}\\x1b[2J\\x9b1m\n`);
});
