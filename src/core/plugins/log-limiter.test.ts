import assert from "node:assert/strict";
import { test } from "node:test";
import { LogLimiter, lineWriter } from "./log-limiter.ts";

test("lines beyond a burst of 500 are dropped and counted; later lines pass again", () => {
  let now = 0;
  const written: string[] = [];
  const limiter = new LogLimiter(
    (severity, text) => written.push(`${severity} ${text}`),
    () => now,
  );
  for (let number = 0; number < 10_000; number += 1) limiter.log("info", `line ${number}`);
  assert.equal(written.length, 500);
  now += 1_000;
  limiter.log("warn", "one more\nand another\n");
  assert.deepEqual(written.slice(500), [
    "warn 9500 lines were dropped: it writes more than 100 a second",
    "warn one more",
    "warn and another",
  ]);
  limiter.flush();
  assert.equal(written.length, 503);
});

test("a line is cut at 16384 characters", () => {
  const written: string[] = [];
  new LogLimiter(
    (_, text) => written.push(text),
    () => 0,
  ).log("info", "x".repeat(100_000));
  assert.equal(written[0]?.length, 16_385);
});

test("text written in pieces becomes whole lines; a line that doesn't end is passed on when it is too long", () => {
  const lines: string[] = [];
  const write = lineWriter((line) => lines.push(line));
  for (const piece of ["on", "e\ntw", Buffer.from("o\n"), "x".repeat(20_000)]) write(piece);
  assert.deepEqual(
    lines.map(({ length }) => length),
    [3, 3, 20_000],
  );
});
