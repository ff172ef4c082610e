/** Asking a procman to end while its keeper may be killed. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ProcmanError } from "../../core/base/errors.ts";
import { bootId, processStat } from "../../core/os/process-stat.ts";
import { waitForEnd } from "./terminate.ts";

function folder(context: TestContext) {
  const path = mkdtempSync(join(tmpdir(), "procman-ending-"));
  context.after(() => rmSync(path, { recursive: true }));
  /** A process that holds its lock. */
  const keeper = async (lock: string) => {
    const child = spawn("sleep", ["1000"], { stdio: "ignore" });
    context.after(() => void child.kill("SIGKILL"));
    await once(child, "spawn");
    const { pid = 0 } = child;
    writeFileSync(join(path, lock), JSON.stringify({ pid, startTime: processStat(pid)?.startTime, bootId: bootId() }));
    const killed = async (): Promise<void> => {
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    const left = async (): Promise<void> => {
      rmSync(join(path, lock));
      await killed();
    };
    return { pid, killed, left };
  };
  return { path, keeper };
}

test("if the keeper is killed before it has ended, its replacement is asked", async (context) => {
  const { path, keeper } = folder(context);
  const first = await keeper("lock.1");
  const asked: number[] = [];
  await waitForEnd(path, async ({ pid }) => {
    asked.push(pid);
    if (pid !== first.pid) throw new ProcmanError("no-daemon", "it knew already");
    await first.killed();
    const { left, pid: second } = await keeper("lock.2");
    rmSync(join(path, "lock.1"));
    setTimeout(() => void left(), 50);
    asked.push(second);
  });
  assert.equal(asked.length, 3);
  assert.equal(asked[1], asked[2]);
});

test("a killed keeper without a replacement is reported, with the remedy and that its processes may still be running", async (context) => {
  const { path, keeper } = folder(context);
  const { killed } = await keeper("lock.1");
  await assert.rejects(waitForEnd(path, killed), {
    code: "no-daemon",
    message: `Cannot reach procman: none is running for ${path}. It was killed, and its processes may still be running: "procman run" adopts them`,
  });
});

test("a keeper that ended in order and was restarted by its supervisor is not asked again", async (context) => {
  const { path, keeper } = folder(context);
  const { left } = await keeper("lock.1");
  const asked: number[] = [];
  await waitForEnd(path, async ({ pid }) => {
    asked.push(pid);
    await left();
    await keeper("lock.1");
  });
  assert.equal(asked.length, 1);
});

test("a request whose answer was lost is repeated; it has succeeded if procman has ended meanwhile", async (context) => {
  const { path, keeper } = folder(context);
  const { left } = await keeper("lock.1");
  let asked = 0;
  await waitForEnd(path, async () => {
    asked += 1;
    if (asked === 1) throw new ProcmanError("service-down", "Cannot tell what came of it");
    await left();
    throw new ProcmanError("no-daemon", "none is running");
  });
  assert.equal(asked, 2);
});

test("a service that stays down is reported", async (context) => {
  const { path, keeper } = folder(context);
  await keeper("lock.1");
  await assert.rejects(
    waitForEnd(path, () => Promise.reject(new ProcmanError("service-down", "it is down"))),
    { code: "service-down" },
  );
});
