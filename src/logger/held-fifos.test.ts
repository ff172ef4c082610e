import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { HeldFifos } from "./held-fifos.ts";

function fifoIn(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-held-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "1.out");
  execFileSync("mkfifo", [path]);
  return path;
}

test("what was written to a held FIFO is read later, though its writer has ended and no other process had it open", (context) => {
  const path = fifoIn(context);
  const held = new HeldFifos();
  held.hold([path]);
  const writer = openSync(path, constants.O_RDWR);
  writeSync(writer, "last words\n");
  closeSync(writer);
  const fd = held.take(path) ?? assert.fail("not held");
  assert.equal(readFileSync(fd, "utf8"), "last words\n");
  closeSync(fd);
  assert.equal(held.take(path), undefined, "it was taken");
});

test("a FIFO that was replaced by another one of the same name is not taken for it", (context) => {
  const path = fifoIn(context);
  const held = new HeldFifos();
  held.hold([path]);
  // Both exist at the same time, so that the inode number differs.
  execFileSync("sh", ["-c", `mkfifo ${path}.new && mv ${path}.new ${path}`]);
  assert.equal(held.take(path), undefined);
  held.hold([`${path}.missing`]);
  assert.equal(held.take(`${path}.missing`), undefined);
});
