import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { otherUser } from "../../../test/support/other-user.ts";
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

test("a FIFO that is named again, as after a hand-over, keeps what was written, though its writer has ended", (context) => {
  const path = fifoIn(context);
  const held = new HeldFifos();
  held.hold([path]);
  const writer = openSync(path, constants.O_RDWR);
  writeSync(writer, "last words\n");
  closeSync(writer);
  held.hold([path]);
  const fd = held.take(path) ?? assert.fail("not held");
  assert.equal(readFileSync(fd, "utf8"), "last words\n");
  closeSync(fd);
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

test("a folder that loses its rights: the logger keeps the FIFOs that it holds, and opens a reused one by its fallback", (context) => {
  const user = otherUser(context);
  if (user === undefined) return;
  const paths = [fifoIn(context), fifoIn(context)] as const;
  for (const path of paths) chownSync(path, user.uid, user.gid);
  const [held, kept] = [new HeldFifos(), openSync(paths[1], constants.O_RDWR | constants.O_NONBLOCK)];
  held.hold([paths[0]]);
  for (const path of paths) chmodSync(dirname(path), 0);
  // Root has all rights.
  process.seteuid?.(user.name);
  try {
    held.hold([paths[1]]);
    assert.equal(held.take(paths[1]), undefined, "not by its own path");
    held.hold([paths[1]], [`/dev/fd/${kept}`]);
    writeSync(kept, "last words\n");
    closeSync(kept);
    const fds = paths.map((path) => held.take(path) ?? assert.fail(`${path} is not held`));
    assert.equal(readFileSync(fds[1] as number, "utf8"), "last words\n");
    for (const fd of fds) closeSync(fd);
  } finally {
    process.seteuid?.(0);
  }
});

test("FIFOs that are removed before they are used don't use up the descriptors, and those that exist stay held", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-held-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const held = new HeldFifos();
  const kept = join(folder, "kept");
  execFileSync("mkfifo", [kept]);
  held.hold([kept]);
  const descriptors = (): number => readdirSync("/dev/fd").length;
  const before = descriptors();
  const counts: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const batch = Array.from({ length: 64 }, (_, index) => join(folder, `${round}-${index}`));
    execFileSync("mkfifo", batch);
    held.hold(batch);
    for (const path of batch) unlinkSync(path);
    counts.push(descriptors() - before);
  }
  assert.ok(Math.max(...counts) <= 330, `descriptors in use: ${counts}`);
  const fd = held.take(kept) ?? assert.fail("not held");
  closeSync(fd);
});

test("any number of FIFOs that exist can be held", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-held-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const held = new HeldFifos();
  const paths = Array.from({ length: 600 }, (_, index) => join(folder, String(index)));
  execFileSync("mkfifo", paths);
  for (const path of paths) held.hold([path]);
  const fds = paths.map((path) => held.take(path));
  for (const fd of fds) if (fd !== undefined) closeSync(fd);
  assert.ok(fds.every((fd) => fd !== undefined));
});
