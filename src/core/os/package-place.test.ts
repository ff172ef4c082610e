import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { currentPath, lastingPath, presentPath } from "./package-place.ts";

function folder(context: TestContext): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "procman-place-")));
  context.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A file of an installation; `at`: when it was installed, in seconds. */
function installed(root: string, version: string, at = 1_000): string {
  const file = join(root, version, "node_modules/procman/dist/procman.cjs");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, "");
  utimesSync(join(root, version), at, at);
  return file;
}

function link(home: string, file: string): string {
  const path = join(home, "procman");
  rmSync(path, { force: true });
  mkdirSync(home, { recursive: true });
  symlinkSync(dirname(dirname(file)), path);
  return join(path, "dist/procman.cjs");
}

test("pnpm: the link of the project leads to the version in use; a version that is gone is replaced by it", (context) => {
  const home = join(folder(context), "node_modules");
  const [old, next] = ["procman@1.0.0", "procman@1.1.0"].map((name) => installed(join(home, ".pnpm"), name)) as [
    string,
    string,
  ];
  const linked = link(home, old);
  assert.deepEqual([lastingPath(old, old), currentPath(old)], [linked, old]);
  link(home, next);
  assert.deepEqual([presentPath(old), currentPath(old), lastingPath(next, next)], [old, next, linked]);
  assert.equal(lastingPath(old, old), old, "the link leads to another version");
  rmSync(old);
  assert.equal(presentPath(old), next);
});

test("Plug'n'Play: a version that is gone is replaced by the one beside it, not by another package", (context) => {
  const root = join(folder(context), ".yarn/unplugged");
  const old = join(root, "procman-npm-1.0.0-4e89398c5e/node_modules/procman/dist/procman.cjs");
  installed(root, "left-pad-npm-1.3.0-0a1b2c3d4e/node_modules/left-pad");
  assert.equal(presentPath(old), old);
  const next = installed(root, "procman-npm-1.1.0-5f9a4a9d6f");
  assert.deepEqual([presentPath(old), currentPath(old), lastingPath(next, next)], [next, next, next]);
});

test("pnpm's store: when a version is gone, the newest one is found; the recorded path is the link that started the command", (context) => {
  const home = folder(context);
  const root = join(home, "store/links/@/procman");
  const newest = installed(root, "0.3.0/cc", 3_000);
  const second = installed(root, "1.1.0/bb", 2_000);
  assert.equal(presentPath(join(root, "1.0.0/aa/node_modules/procman/dist/procman.cjs")), newest);
  assert.deepEqual([presentPath(second), currentPath(second)], [second, second]);
  const linked = link(join(home, "global/node_modules"), second);
  assert.deepEqual([lastingPath(second, linked), lastingPath(newest, linked)], [linked, newest]);
});

test("a path without a version stays, also if it is gone", (context) => {
  const path = installed(folder(context), "project");
  assert.deepEqual(
    [presentPath(path), currentPath(path), lastingPath(path, join(dirname(path), "../../.bin/procman"))],
    [path, path, path],
  );
  rmSync(path);
  assert.deepEqual([presentPath(path), currentPath(path)], [path, path]);
});
