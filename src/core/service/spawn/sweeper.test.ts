import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { RunMarkers } from "../../base/run-marker.ts";
import { processStat } from "../../os/process-stat.ts";
import { markedProcesses } from "../../os/process-tree.ts";
import { Sweeper } from "./sweeper.ts";

/** Markers of this run of the tests alone: another one may run on this machine at the same time. */
const MARKERS = new RunMarkers(`/sweeper-test-${process.pid}`, "00112233445566778899aabbccddeeff");

/** Starts a leader that runs `script` in the background and ends. Returns the pids that the script printed. */
async function leftBehind(
  script: string,
  slot: string,
): Promise<{ readonly leader: number; readonly pids: readonly number[] }> {
  const leader: ChildProcess = spawn("sh", ["-c", script], {
    detached: true,
    env: { ...process.env, PROCMAN_RUN_ID: MARKERS.of(slot, 1) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  leader.stdout?.on("data", (data) => {
    text += String(data);
  });
  // With all that it printed.
  await once(leader, "close");
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

function swept(
  sweeper: Sweeper,
  who: { readonly slot: string; readonly pid: number },
  signal: "SIGTERM" | "SIGKILL",
): Promise<void> {
  return new Promise((resolve) => sweeper.sweep({ ...who, run: 1 }, signal, () => resolve()));
}

test("2.2 stop: members of the group, and processes that left it with its marker, are found; those with another marker are not", async () => {
  const mine = await leftBehind("sleep 500 >&2 & echo $!; setsid sleep 500 >&2 & echo $!", "mine");
  const other = await leftBehind("sleep 500 >&2 & echo $!", "other");
  await swept(new Sweeper(MARKERS), { slot: "mine", pid: mine.leader }, "SIGTERM");
  assert.ok(!mine.pids.some(isUp));
  assert.ok(other.pids.every(isUp));
  await swept(new Sweeper(MARKERS), { slot: "other", pid: other.leader }, "SIGKILL");
  assert.ok(!other.pids.some(isUp));
});

test("2.2 stop: a process that ignores SIGTERM is ended by the SIGKILL that follows", async () => {
  const { leader, pids } = await leftBehind("trap '' TERM; sleep 500 >&2 & echo $!", "deaf");
  const sweeper = new Sweeper(MARKERS);
  let done = false;
  sweeper.sweep({ slot: "deaf", run: 1, pid: leader }, "SIGTERM", () => {
    done = true;
  });
  await swept(new Sweeper(MARKERS), { slot: "nobody", pid: process.pid }, "SIGTERM");
  assert.ok(!done && pids.every(isUp));
  sweeper.sweep({ slot: "deaf", run: 1, pid: leader }, "SIGKILL", () => assert.fail("one answer is enough"));
  while (!done) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(!pids.some(isUp));
});

test("a process that has the leader's pid now, and its group, are left alone", async () => {
  const innocent = spawn("sleep", ["500"], { detached: true, stdio: "ignore" });
  await swept(new Sweeper(MARKERS), { slot: "gone", pid: innocent.pid ?? 0 }, "SIGKILL");
  assert.ok(isUp(innocent.pid ?? 0));
  innocent.kill("SIGKILL");
});

test("processes that make children faster than they are killed are all ended", async () => {
  // A chain ends by itself, whatever fails here.
  process.env.CHAIN = 'sleep 0.02; [ "$1" -gt 0 ] && setsid sh -c "$CHAIN" chain $(($1 - 1)) >/dev/null 2>&1 &';
  const { leader } = await leftBehind(
    `for i in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c "$CHAIN" chain 500 >&2 & done; sleep 500 >&2 & echo $!`,
    "fork",
  );
  delete process.env.CHAIN;
  await swept(new Sweeper(MARKERS), { slot: "fork", pid: leader }, "SIGKILL");
  // Longer than a member of a chain lives.
  for (let look = 0; look < 10; look++) {
    assert.deepEqual(
      markedProcesses(MARKERS, () => undefined),
      [],
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
});

test("programs without an environment that start all the time don't hold up a stop", async (context) => {
  const busy = spawn("sh", ["-c", "while :; do env -i sleep 0.02; done"], { detached: true, stdio: "ignore" });
  context.after(() => process.kill(-(busy.pid ?? 0), "SIGKILL"));
  const { leader, pids } = await leftBehind("sleep 500 >&2 & echo $!", "quiet");
  await swept(new Sweeper(MARKERS), { slot: "quiet", pid: leader }, "SIGTERM");
  assert.ok(!pids.some(isUp));
});

test("2.2 stop: programs that make another process and end every 20 ms are found while they go on, and ended, all of them", {
  timeout: 60_000,
}, async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-forkers-"));
  const [lives, program] = [join(folder, "lives"), join(folder, "forker.sh")];
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(lives, "");
  // Each life writes a byte: what lives 20 ms is in no list of processes.
  writeFileSync(
    program,
    `trap '' TERM; [ -e ${lives} ] || exit; printf x >> ${lives}; sleep 0.02; setsid sh ${program} &\n`,
  );
  const leader = spawn("sh", ["-c", `for i in 1 2 3 4 5 6 7 8 9 10; do setsid sh ${program} & done`], {
    detached: true,
    env: { ...process.env, PROCMAN_RUN_ID: MARKERS.of("forkers", 1) },
    stdio: "ignore",
  });
  await once(leader, "exit");
  while (statSync(lives).size < 100) await sleep(5);
  const [sweeper, target] = [new Sweeper(MARKERS), { slot: "forkers", run: 1, pid: leader.pid ?? 0 }];
  let isOver = false;
  const over = swept(sweeper, target, "SIGTERM").then(() => {
    isOver = true;
  });
  for (const begun = statSync(lives).size; statSync(lives).size < begun + 1_000; ) await sleep(5);
  assert.equal(isOver, false, "nothing was found of what goes on");
  sweeper.sweep(target, "SIGKILL", () => undefined);
  await over;
  const atEnd = statSync(lives).size;
  await sleep(1_000);
  assert.equal(statSync(lives).size, atEnd, "lives after the sweep");
});
