import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { identityOf } from "./file-identity.ts";
import { hasLock, holderOf, homeOf, isAbandoned, isOfOther, originOfRecords, takeLock } from "./lock.ts";
import { bootId, processStat } from "./process-stat.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-lock-"));
  context.after(() => rmSync(path, { recursive: true }));
  return path;
}

function holder(pid: number, changes: object = {}): string {
  return JSON.stringify({ pid, startTime: processStat(pid)?.startTime, bootId: bootId(), ...changes });
}

test("only a living process holds a lock, and the lock has its pid", (context) => {
  const path = folder(context);
  const lock = takeLock(path);
  assert.ok("release" in lock);
  const second = takeLock(path);
  assert.ok("pid" in second && second.pid === process.pid);
  lock.release();
  assert.deepEqual(readdirSync(path), []);
});

test("a lock whose holder is dead, a zombie, of another boot, or has a reused pid, is free", async (context) => {
  const child = spawn("true");
  await once(child, "exit");
  const stale = [
    holder(child.pid ?? 0, { startTime: "1" }),
    holder(process.pid, { startTime: "1" }),
    holder(process.pid, { bootId: "another" }),
    "{torn",
  ];
  for (const text of stale) {
    const path = folder(context);
    writeFileSync(join(path, "lock.7"), text);
    assert.ok("release" in takeLock(path), text);
    assert.deepEqual(readdirSync(path), ["lock.8"]);
  }
});

test("of many processes that find the same dead holder, exactly one gets the lock", async (context) => {
  const path = folder(context);
  writeFileSync(join(path, "lock.3"), "{}");
  const script = `import { takeLock } from ${JSON.stringify(new URL("./lock.ts", import.meta.url).href)}; console.log("release" in takeLock(${JSON.stringify(path)}) ? "mine" : "other"); process.stdin.resume();`;
  const contenders = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const answers = await Promise.all(
    contenders.map(async ({ stdout }) => String((await once(stdout, "data"))[0]).trim()),
  );
  for (const contender of contenders) contender.stdin.end();
  assert.deepEqual(answers.sort(), ["mine", "other", "other", "other"]);
});

test("of processes that take and release the lock by turns, one at a time has it", async (context) => {
  const path = folder(context);
  const script = `import { closeSync, openSync, rmSync } from "node:fs";
    import { takeLock } from ${JSON.stringify(new URL("./lock.ts", import.meta.url).href)};
    const [path, inside] = ${JSON.stringify([path, join(path, "inside")])};
    let times = 0;
    while (times < 100) {
      const lock = takeLock(path);
      if (!("release" in lock)) continue;
      closeSync(openSync(inside, "wx"));
      if (!lock.holds()) throw new Error("taken away");
      rmSync(inside);
      lock.release();
      times += 1;
    }`;
  const contenders = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], { stdio: "inherit" }),
  );
  const codes = await Promise.all(contenders.map(async (contender) => (await once(contender, "exit"))[0]));
  assert.deepEqual([codes, readdirSync(path)], [[0, 0, 0, 0], []]);
});

test("a lock is abandoned if its holder was killed since boot, but not if it was released or is of another boot", (context) => {
  const path = folder(context);
  const lock = takeLock(path);
  assert.equal(isAbandoned(path), false, "it is held");
  assert.ok("release" in lock);
  lock.release();
  assert.equal(isAbandoned(path), false);
  const stale: readonly (readonly [string, boolean])[] = [
    [holder(process.pid, { startTime: "1" }), true],
    [holder(process.pid, { startTime: "1", bootId: "another" }), false],
    ["{torn", false],
  ];
  for (const [text, abandoned] of stale) {
    writeFileSync(join(path, "lock.7"), text);
    assert.equal(isAbandoned(path), abandoned, text);
  }
});

test("a lock that passes from holder to holder is never seen as none", async (context) => {
  const path = folder(context);
  const program = `import { takeLock } from ${JSON.stringify(new URL("./lock.ts", import.meta.url).href)};
    for (;;) takeLock(${JSON.stringify(path)}, { isAgain: true });`;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], { stdio: "ignore" });
  try {
    while (!hasLock(path)) await new Promise((resolve) => setTimeout(resolve, 5));
    for (let look = 0; look < 5_000; look += 1) assert.equal(hasLock(path), true, `look ${look}`);
  } finally {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

test("a lock that was copied with its folder is not a lock of the copy; in a moved or restored folder it is", (context) => {
  const root = folder(context);
  const [path, copy, moved] = [join(root, "a"), join(root, "b"), join(root, "c")];
  mkdirSync(path);
  assert.ok("release" in takeLock(path, { lineage: "1" }));
  cpSync(path, copy, { recursive: true });
  assert.deepEqual(
    [holderOf(copy), hasLock(copy), isAbandoned(copy), originOfRecords(copy)],
    [undefined, false, false, path],
  );
  assert.deepEqual(
    [isOfOther(copy, process.pid), isOfOther(path, process.pid), isOfOther(path, 1)],
    [true, false, true],
  );
  renameSync(path, moved);
  assert.deepEqual([holderOf(moved)?.pid, homeOf(moved), originOfRecords(moved)], [process.pid, moved, undefined]);
  renameSync(copy, path);
  assert.deepEqual([holderOf(path)?.pid, originOfRecords(path)], [process.pid, undefined], "restored");
  assert.equal(homeOf(moved), path, "its holder has gone on in the old place");
  const own = takeLock(moved, { isAgain: true });
  assert.ok("release" in own);
  assert.equal(originOfRecords(moved), undefined);
});

test("a lock that a dead holder left in a moved folder is none, if the old place has another folder", (context) => {
  const root = folder(context);
  const [path, moved] = [join(root, "a"), join(root, "b")];
  mkdirSync(moved);
  const claim = (): string => holder(process.pid, { startTime: "1", folder: { path, identity: identityOf(moved) } });
  writeFileSync(join(moved, "lock.1"), claim());
  assert.equal(isAbandoned(moved), true);
  mkdirSync(path);
  assert.deepEqual([isAbandoned(moved), hasLock(moved), originOfRecords(moved)], [false, false, path]);
});

test("a lock of 1.0.0 was copied if the folder beside its file has one, too", (context) => {
  const root = folder(context);
  const [path, copy] = [join(root, "a/.procman/shop"), join(root, "b/.procman/shop")];
  for (const each of [path, copy]) {
    mkdirSync(each, { recursive: true });
    writeFileSync(join(each, "lock.1"), holder(process.pid, { file: join(root, "a/procman.json") }));
  }
  assert.deepEqual([holderOf(path)?.pid, holderOf(copy)?.pid, originOfRecords(copy)], [process.pid, undefined, path]);
  rmSync(join(path, "lock.1"));
  assert.equal(holderOf(copy)?.pid, process.pid, "moved, or another state folder on purpose");
});
