import assert from "node:assert/strict";
import { test } from "node:test";
import { readLines, withSum } from "./journal-lines.ts";

const ENTRIES = [
  { boot: "3f", format: 1 },
  { t: "run", record: { slot: "wéb", run: 4, pid: 4711, startTime: "99", since: 5.25 } },
  { t: "note", id: "web", note: '{"blocked":true}' },
].map((entry) => JSON.stringify(entry));

function fileOf(lines: readonly string[]): Buffer {
  return Buffer.from(lines.map((line) => `${line}\n`).join(""));
}

test("any one byte of the file may be any other: all lines are read as they were written", () => {
  const written = fileOf(ENTRIES.map(withSum));
  for (let at = 0; at < written.length - 1; at += 1)
    for (let flip = 1; flip < 256; flip += 1) {
      const damaged = Buffer.from(written);
      damaged[at] = (damaged[at] as number) ^ flip;
      const read = readLines(damaged).filter((line) => line !== "");
      assert.deepEqual(read, ENTRIES, `byte ${at} with ${flip}`);
    }
});

test("a line with more damage is left out, the others are read", () => {
  const written = fileOf(ENTRIES.map(withSum));
  const damaged = Buffer.from(written.toString("latin1").replace("4711", "1174"), "latin1");
  assert.deepEqual(readLines(damaged), [ENTRIES[0], "", ENTRIES[2], ""]);
});

test("lines without a sum, of 1.0.0, are read; a torn last line is not an entry", () => {
  assert.deepEqual(readLines(fileOf(ENTRIES)), [...ENTRIES, ""]);
  const torn = fileOf(ENTRIES.map(withSum)).subarray(0, -30);
  assert.deepEqual(readLines(torn), [...ENTRIES.slice(0, 2), ""]);
  for (const line of ENTRIES.map(withSum))
    assert.equal(typeof (JSON.parse(line) as { readonly sum: unknown }).sum, "string", "1.0.0 reads it, too");
});
