import assert from "node:assert/strict";
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { takeLock } from "./lock.ts";
import { setTitle } from "./part-title.ts";
import { foldersIn, type RunningKeeper, runningKeepers, titledIn } from "./running-keepers.ts";

/** This process looks like a keeper of the folder: by its title and its open journal. */
function pretended(context: TestContext): {
  readonly stateDir: string;
  readonly found: () => RunningKeeper | undefined;
} {
  const root = mkdtempSync(join(tmpdir(), "procman-"));
  const stateDir = join(root, "shop");
  mkdirSync(join(stateDir, "run"), { recursive: true });
  chmodSync(stateDir, 0o700);
  const journal = openSync(join(stateDir, "run/journal"), "w");
  const { title } = process;
  setTitle("keeper", stateDir);
  context.after(() => {
    process.title = title;
    closeSync(journal);
    rmSync(root, { recursive: true, force: true });
  });
  return { stateDir, found: () => runningKeepers().find((each) => each.stateDir === stateDir) };
}

test("a keeper is found by its title and its journal, with its configuration file, as long as it holds the lock", (context) => {
  const { stateDir, found } = pretended(context);
  assert.equal(found(), undefined, "the title of a keeper without its lock counts for nothing");
  const before = Date.now();
  const lock = takeLock(stateDir, { file: "/srv/shop/procman.json" });
  assert.ok("release" in lock);
  const { since = 0, ...rest } = found() ?? {};
  assert.deepEqual(rest, {
    name: "shop",
    stateDir,
    uid: process.geteuid?.(),
    pid: process.pid,
    file: "/srv/shop/procman.json",
  });
  assert.ok(since >= before - 1_000 && since <= Date.now() + 1_000, `${since}`);
  lock.release();
  assert.equal(found(), undefined);
});

test("a state folder that others may write in names no keeper", (context) => {
  const { stateDir, found } = pretended(context);
  assert.ok("release" in takeLock(stateDir));
  assert.equal(found()?.pid, process.pid);
  chmodSync(stateDir, 0o777);
  assert.equal(found(), undefined);
});

test("a lock of another process, or without a file, is taken as it is", (context) => {
  const { stateDir, found } = pretended(context);
  const lock = takeLock(stateDir);
  assert.ok("release" in lock);
  assert.equal(found()?.file, undefined);
  lock.release();
  writeFileSync(join(stateDir, "lock.1"), JSON.stringify({ pid: 1, startTime: "0", bootId: "" }));
  assert.equal(found(), undefined);
});

test("where there is no /proc, ps tells titles and lsof open files", () => {
  const lines =
    "  1 0 /sbin/launchd\n 12 501 procman[shop]: keeper\n 13 501 procman[shop]: service\n 14 501 procman: logger\n";
  assert.deepEqual(titledIn(lines), [
    { pid: 12, uid: 501, part: "keeper" },
    { pid: 14, uid: 501, part: "logger" },
  ]);
  const files =
    "p12\nf0\nn/dev/null\nf21\nn/srv/a b/.procman/shop/run/journal\nf22\nn/other/run/journal\np14\nn/srv/mail/run/fifos/3.err\np15\nn/x\n";
  assert.deepEqual(
    [...foldersIn(files)],
    [
      [12, "/srv/a b/.procman/shop"],
      [14, "/srv/mail"],
    ],
  );
});
