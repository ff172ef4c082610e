/** Output of another machine on this terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { terminalFilter } from "./terminal-filter.ts";

async function filtered(pieces: readonly Buffer[]): Promise<string> {
  const filter = terminalFilter();
  for (const piece of pieces) filter.write(piece);
  filter.end();
  return Buffer.concat(await filter.toArray()).toString("utf8");
}

const byByte = (text: string): readonly Buffer[] => [...Buffer.from(text)].map((byte) => Buffer.from([byte]));

test("colors, tabs and redrawn lines stay, all other control sequences are shown, however the bytes come", async () => {
  const kept = "\u001b[1;32mok\u001b[0m\tä€😀 Â\r\u001b[Kdone\r\n";
  const odd = "\u001b]0;OWNED\u0007 \u001b[2J \u001b[1A \u009b2J \u007f \u001bc \u001b[?25l \u0000";
  const shown = "\\x1b]0;OWNED\\x07 \\x1b[2J \\x1b[1A \\x9b2J \\x7f \\x1bc \\x1b[?25l \\x00";
  for (const pieces of [[Buffer.from(kept + odd)], byByte(kept + odd)])
    assert.equal(await filtered(pieces), kept + shown);
  assert.equal(await filtered(byByte("\u001b[1")), "\\x1b[1");
  assert.equal(await filtered([Buffer.from(`\u001b[${"1".repeat(1_000_000)}m`)]), `\\x1b[${"1".repeat(1_000_000)}m`);
});
