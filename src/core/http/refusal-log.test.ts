import assert from "node:assert/strict";
import { test } from "node:test";
import { RefusalLog } from "./refusal-log.ts";

test("the first refusal of each kind and consumer is logged, then one a minute with the number of those in between", () => {
  let now = 0;
  const lines: string[] = [];
  const log = new RefusalLog(
    (text) => lines.push(text),
    () => now,
  );
  for (const consumer of ["a", "b"])
    for (const kind of ["expired", "revoked"]) log.add(consumer, kind, `${consumer} ${kind}`);
  for (let count = 0; count < 5; count++) log.add("a", "expired", "a expired");
  now = 60_000;
  log.add("a", "expired", "a expired");
  assert.deepEqual(lines, [
    "a expired",
    "a revoked",
    "b expired",
    "b revoked",
    "a expired (and 5 times since the last such line)",
  ]);
});
