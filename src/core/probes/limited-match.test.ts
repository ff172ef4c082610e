import assert from "node:assert/strict";
import { test } from "node:test";
import { LimitedMatch } from "./limited-match.ts";

const NEVER = new AbortController().signal;

test("a pattern matches as a regular expression does", async () => {
  for (const [pattern, line, matches] of [
    ["ready", "now ready", true],
    ["^ready$", "now ready", false],
    ["port (\\d+)", "on port 80", true],
    ["^(a+)+$", "aaaa", true],
    ["(.)\\1", "abba", true],
    ["x{2,}", "axb", false],
  ] as const)
    assert.equal(await new LimitedMatch(pattern, () => assert.fail()).test(line, NEVER), matches, pattern);
});

test("a test that would take years is ended, the line doesn't count, and the event loop goes on", async () => {
  const slow: number[] = [];
  const pattern = new LimitedMatch("^(a+)+$", (characters) => slow.push(characters));
  let turns = 0;
  const timer = setInterval(() => turns++, 20);
  const began = performance.now();
  assert.equal(await pattern.test(`${"a".repeat(40)}!`, NEVER), false);
  clearInterval(timer);
  assert.deepEqual(slow, [41]);
  assert.ok(performance.now() - began < 20_000);
  assert.ok(turns >= 20, `${turns} turns`);
  assert.equal(await pattern.test("aaa", NEVER), true);
});

test("a long line is cut, and quadratic patterns are ended, too", async () => {
  const slow: number[] = [];
  const pattern = new LimitedMatch("a+b", (characters) => slow.push(characters));
  assert.equal(await pattern.test("a".repeat(1_048_576), NEVER), false);
  assert.deepEqual(slow, [1_048_576]);
});

test("an abort ends the pause", async () => {
  const stop = new AbortController();
  const tested = new LimitedMatch("^(a+)+$", () => assert.fail()).test(`${"a".repeat(40)}!`, stop.signal);
  stop.abort();
  assert.equal(await tested, false);
});
