import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { hasLock, isAbandoned, takeLock } from "./lock.ts";
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
    spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const answers = await Promise.all(contenders.map(async ({ stdout }) => String((await once(stdout, "data"))[0]).trim()));
  for (const contender of contenders) contender.stdin.end();
  assert.deepEqual(answers.sort(), ["mine", "other", "other", "other"]);
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
