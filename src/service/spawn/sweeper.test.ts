import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { processStat } from "../../os/process-stat.ts";
import { Sweeper } from "./sweeper.ts";

/** Starts a leader that runs `script` in the background and ends. Returns the pids that the script printed. */
async function leftBehind(script: string, marker: string): Promise<{ readonly leader: number; readonly pids: readonly number[] }> {
  const leader: ChildProcess = spawn("sh", ["-c", script], {
    detached: true,
    env: { ...process.env, PROCMAN_RUN_ID: marker },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  leader.stdout?.on("data", (data) => {
    text += String(data);
  });
  await once(leader, "exit");
  const pids = text.trim().split(/\s+/).map(Number);
  assert.ok(
    pids.every((pid) => isUp(pid)),
    text,
  );
  return { leader: leader.pid ?? 0, pids };
}

function isUp(pid: number): boolean {
  const stat = processStat(pid);
  return stat !== undefined && stat.state !== "Z";
}

function swept(sweeper: Sweeper, who: { readonly marker: string; readonly pid: number }, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  return new Promise((resolve) => sweeper.sweep(who, signal, resolve));
}

test("2.2 stop: members of the group, and processes that left it with its marker, are found; those with another marker are not", async () => {
  const mine = await leftBehind("sleep 500 >&2 & echo $!; setsid sleep 500 >&2 & echo $!", "mine.1@test");
  const other = await leftBehind("sleep 500 >&2 & echo $!", "other.1@test");
  await swept(new Sweeper(), { marker: "mine.1@test", pid: mine.leader }, "SIGTERM");
  assert.ok(!mine.pids.some(isUp));
  assert.ok(other.pids.every(isUp));
  await swept(new Sweeper(), { marker: "other.1@test", pid: other.leader }, "SIGKILL");
  assert.ok(!other.pids.some(isUp));
});

test("2.2 stop: a process that ignores SIGTERM is ended by the SIGKILL that follows", async () => {
  const { leader, pids } = await leftBehind("trap '' TERM; sleep 500 >&2 & echo $!", "deaf.1@test");
  const sweeper = new Sweeper();
  let done = false;
  sweeper.sweep({ marker: "deaf.1@test", pid: leader }, "SIGTERM", () => {
    done = true;
  });
  await swept(new Sweeper(), { marker: "nobody.1@test", pid: process.pid }, "SIGTERM");
  assert.ok(!done && pids.every(isUp));
  sweeper.sweep({ marker: "deaf.1@test", pid: leader }, "SIGKILL", () => assert.fail("one answer is enough"));
  while (!done) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(!pids.some(isUp));
});

test("a process that has the leader's pid now, and its group, are left alone", async () => {
  const innocent = spawn("sleep", ["500"], { detached: true, stdio: "ignore" });
  await swept(new Sweeper(), { marker: "gone.1@test", pid: innocent.pid ?? 0 }, "SIGKILL");
  assert.ok(isUp(innocent.pid ?? 0));
  innocent.kill("SIGKILL");
});
