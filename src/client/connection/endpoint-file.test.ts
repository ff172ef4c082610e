import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { takeLock } from "../../core/os/lock.ts";
import { bootId } from "../../core/os/process-stat.ts";
import { keeperOf, resolveEndpoint } from "./endpoint-file.ts";
import { LogReader } from "./log-reader.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-endpoint-"));
  context.after(() => {
    if (existsSync(join(folder, "closed"))) chmodSync(join(folder, "closed"), 0o700);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

const NOBODY = 65_534;

/** Runs as a user who may not read others' files; root may. */
async function asAnother(call: () => Promise<void>): Promise<void> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    await call();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test("a state folder of another user isn't mistaken for one without a running procman, neither by commands nor for the log", async (context) => {
  const folder = folderOf(context);
  const stateDir = join(folder, "closed/shop");
  mkdirSync(stateDir, { recursive: true });
  chmodSync(join(folder, "closed"), 0);
  const refused = {
    code: "no-daemon",
    message:
      /closed\/shop.* may not be read; run this as (?:the user that runs procman|root: "sudo -u root procman .+")$/,
  };
  await asAnother(async () => {
    await assert.rejects(keeperOf(stateDir), refused);
    await assert.rejects(new LogReader({ name: "shop", stateDir }, "test").last({}, 1), refused);
  });
});

test("a lock of before the boot is ignored; one that was just abandoned is waited for", async (context) => {
  const started = /none is running for .*Start it with "procman run"$/;
  const takenUp =
    /none is running for .*It was killed, and its processes may still be running: "procman run" adopts them$/;
  const waited = async (boot: string, message: RegExp): Promise<number> => {
    const stateDir = folderOf(context);
    writeFileSync(join(stateDir, "lock.1"), JSON.stringify({ pid: process.pid, startTime: "1", bootId: boot }));
    const began = performance.now();
    await assert.rejects(keeperOf(stateDir), { code: "no-daemon", message });
    return performance.now() - began;
  };
  const late = await waited(bootId(), takenUp);
  assert.ok((await waited("another", started)) < late);
  assert.ok(late >= 1_500);
});

test("another running procman beside it is named: the name in the file may have changed, or the file may be truncated", async (context) => {
  const folder = folderOf(context);
  for (const name of ["shop", "dead"]) mkdirSync(join(folder, ".procman", name), { recursive: true });
  writeFileSync(join(folder, ".procman/.gitignore"), "*");
  const lock = takeLock(join(folder, ".procman/shop"));
  assert.ok("release" in lock);
  const message = (root: string): Promise<string> =>
    keeperOf(join(folder, root, "procman")).then(
      () => assert.fail("no keeper is running"),
      (error: Error) => error.message,
    );
  assert.match(
    await message(".procman"),
    /none is running for \S+ \(but "shop" runs beside it: look at "name" in the configuration file\)\. Start it with "procman run"$/,
  );
  lock.release();
  assert.match(await message(".procman"), /none is running for \S+\. Start it/);
});

test("a damaged endpoint file is like none", async (context) => {
  const folder = folderOf(context);
  for (const text of ["", "null", "5", "[]", '{"pid":"1"}']) {
    writeFileSync(join(folder, "endpoint.json"), text);
    await assert.rejects(resolveEndpoint(folder, 0), { code: "no-daemon" }, text);
  }
});
