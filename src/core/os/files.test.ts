/** Folders and disks. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isFull } from "./files.ts";
import { makeStateFolder } from "./state-folder.ts";

test("neither a file system without block counts, such as /proc, nor a disk with free space is full", () => {
  const folders = ["/proc", tmpdir()].filter((each) => existsSync(each));
  if (folders.length === 2) assert.equal(statfsSync("/proc").blocks, 0);
  for (const folder of folders) assert.ok(!isFull(folder), folder);
});

test("Git and npm ignore `.procman`, unless it has another .gitignore; other state folders get no such file", (context) => {
  const home = mkdtempSync(join(tmpdir(), "procman-files-"));
  context.after(() => rmSync(home, { recursive: true }));
  const ignored = join(home, "app/.procman/.gitignore");
  makeStateFolder(join(home, "app/.procman/shop"));
  assert.equal(readFileSync(ignored, "utf8"), "*\n");
  assert.equal(statSync(join(home, "app/.procman/shop")).mode & 0o777, 0o700);
  writeFileSync(ignored, "mine");
  makeStateFolder(join(home, "app/.procman/other"));
  assert.equal(readFileSync(ignored, "utf8"), "mine");
  makeStateFolder(join(home, "state/shop"));
  assert.deepEqual(readdirSync(join(home, "state")), ["shop"]);
});
