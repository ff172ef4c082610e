import assert from "node:assert/strict";
import { test } from "node:test";
import { UnreleasedRuns } from "./unreleased-runs.ts";

test("a new run is read when its start is written, and at once if no service reports that", () => {
  const runs = new UnreleasedRuns();
  const read: string[] = [];
  const add = (key: string): void => runs.add(key, () => read.push(key));
  add("old#1");
  assert.deepEqual(read, ["old#1"]);
  runs.isReporting = true;
  for (const key of ["a#1", "b#1", "c#1"]) add(key);
  assert.deepEqual(read, ["old#1"]);
  runs.release(["b#1", "unknown#1"]);
  runs.release(["b#1"]);
  assert.deepEqual(read, ["old#1", "b#1"]);
  runs.releaseAll();
  assert.deepEqual(read, ["old#1", "b#1", "a#1", "c#1"]);
});

test("a service that reports nothing is waited for once, until it reports again", async () => {
  const runs = new UnreleasedRuns(20);
  runs.isReporting = true;
  let isRead = false;
  await new Promise<void>((resolve) => runs.add("a#1", resolve));
  runs.add("b#1", () => (isRead = true));
  assert.ok(isRead, "not waited for again");
  runs.release([]);
  isRead = false;
  runs.add("c#1", () => (isRead = true));
  assert.ok(!isRead);
  runs.releaseAll();
});
