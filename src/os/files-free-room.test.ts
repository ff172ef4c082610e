/** Detection of full disks. */
import assert from "node:assert/strict";
import { existsSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { isFull } from "./files.ts";

test("neither a file system without block counts, such as /proc, nor a disk with free space is full", () => {
  const folders = ["/proc", tmpdir()].filter((each) => existsSync(each));
  if (folders.length === 2) assert.equal(statfsSync("/proc").blocks, 0);
  for (const folder of folders) assert.ok(!isFull(folder), folder);
});
