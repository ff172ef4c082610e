import assert from "node:assert/strict";
import { test } from "node:test";
import { Listeners } from "./process-bus.ts";

test("a listener that throws is reported, and affects neither the sender nor the other listeners", () => {
  const problems: string[] = [];
  const seen: number[] = [];
  const listeners = new Listeners<number>("samples", (problem) => problems.push(problem));
  listeners.listen(() => assert.fail("no disk"));
  const stop = listeners.listen((item) => seen.push(item));
  listeners.publish(1);
  stop();
  listeners.publish(2);
  assert.deepEqual([seen, problems], [[1], Array(2).fill("a listener to samples has failed: no disk")]);
});
