import assert from "node:assert/strict";
import { test } from "node:test";
import { LogLimiter, lineWriter } from "./log-limiter.ts";

test("lines beyond 500 at once are left out and counted; later there is room again", () => {
  let now = 0;
  const said: string[] = [];
  const talk = new LogLimiter(
    (severity, text) => said.push(`${severity} ${text}`),
    () => now,
  );
  for (let number = 0; number < 10_000; number += 1) talk.say("info", `line ${number}`);
  assert.equal(said.length, 500);
  now += 1_000;
  talk.say("warn", "one more\nand another\n");
  assert.deepEqual(said.slice(500), ["warn 9500 lines were left out: it says more than 100 a second", "warn one more", "warn and another"]);
  talk.flush();
  assert.equal(said.length, 503);
});

test("a line is cut at 16384 characters", () => {
  const said: string[] = [];
  new LogLimiter(
    (_, text) => said.push(text),
    () => 0,
  ).say("info", "x".repeat(100_000));
  assert.equal(said[0]?.length, 16_385);
});

test("what is written in pieces becomes whole lines; what never ends is not kept for ever", () => {
  const lines: string[] = [];
  const write = lineWriter((line) => lines.push(line));
  for (const piece of ["on", "e\ntw", Buffer.from("o\n"), "x".repeat(20_000)]) write(piece);
  assert.deepEqual(
    lines.map(({ length }) => length),
    [3, 3, 20_000],
  );
});
