import assert from "node:assert/strict";
import { test } from "node:test";
import { TerminalModes } from "./terminal-modes.ts";

function resetAfter(...chunks: readonly string[]): string {
  const modes = new TerminalModes();
  for (const chunk of chunks) modes.pass(Buffer.from(chunk));
  return modes.reset();
}

test("what a program has switched on is switched off, what it has hidden is shown", () => {
  assert.equal(resetAfter("\x1b[?1049h\x1b[?25lhello"), "\x1b[?1049l\x1b[?25h\x1b[0m");
  assert.equal(resetAfter("\x1b[?1000;1006h"), "\x1b[?1000l\x1b[?1006l\x1b[0m");
  assert.equal(resetAfter("\x1b[?10", "49h"), "\x1b[?1049l\x1b[0m", "also in two chunks");
});

test("what it has switched back needs nothing, and a terminal without output stays as it is", () => {
  assert.equal(resetAfter("\x1b[?1049h", "\x1b[?1049l\x1b[?25h"), "\x1b[0m");
  assert.equal(resetAfter(), "");
  const modes = new TerminalModes();
  modes.pass(Buffer.from("\x1b[?2004h"));
  modes.reset();
  assert.equal(modes.reset(), "", "only once");
});
