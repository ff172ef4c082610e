/** Whether a disk takes one more byte and one more file. */
import assert from "node:assert/strict";
import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { isFull } from "./free-room.ts";

test("what counts neither blocks nor files, as /proc, is not full, nor is a disk with room", () => {
  const folders = ["/proc", tmpdir()].filter((each) => existsSync(each));
  if (folders.length === 2) assert.equal(statfsSync("/proc").blocks, 0);
  for (const folder of folders) assert.ok(!isFull(folder), folder);
});
