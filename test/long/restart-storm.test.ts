/** Thousands of restarts a minute: descriptors, FIFOs, files and memory of procman's own processes don't grow. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";

/** `PROCMAN_FAULT_MINUTES` makes it longer. */
const SECONDS = Number(process.env.PROCMAN_FAULT_MINUTES ?? 1) * 60;
const WARM_UP_S = 20;
const GROWTH = { descriptors: 24, files: 12, megabytes: 40 };

/** Without a child that the keeper has just forked: it looks like the keeper, and has its descriptors. */
async function measure({ procman }: FaultRig): Promise<Readonly<Record<keyof typeof GROWTH, number>>> {
  const look = (): readonly number[] => Object.values(procman.parts()).flat();
  const before = new Set(look());
  await sleep(200);
  const pids = look().filter((pid) => before.has(pid));
  const resident = (pid: number): number =>
    Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
  return {
    descriptors: pids.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0),
    files: readdirSync(procman.stateDir, { recursive: true }).length,
    megabytes: Math.round(pids.reduce((sum, pid) => sum + resident(pid), 0)),
  };
}

test(`four processes that end at once are restarted for ${SECONDS} s: descriptors, files and memory stay as they were`, async (context) => {
  const folder = folderFor(context);
  const ids = ["a", "b", "c", "d"];
  const processes = ids.map((id) => ({
    id,
    cmd: "echo out; echo err >&2",
    autostart: true,
    restart: "always",
    restartDelayMs: 20,
  }));
  const rig = await startRig(context, folder, processes, { config: { logger: { internalLogSize: "8MB" } } });
  const runs = async (): Promise<number> => (await rig.records()).reduce((sum, { run = 0 }) => sum + run, 0);
  // What is measured is a rate over time, so the test waits for the time.
  await sleep(WARM_UP_S * 1_000);
  const [before, runsBefore] = [await measure(rig), await runs()];
  await sleep((SECONDS - WARM_UP_S) * 1_000);
  const [after, count] = [await measure(rig), (await runs()) - runsBefore];
  context.diagnostic(JSON.stringify({ before, after, count }));
  assert.ok(count > SECONDS * 10, `${count} restarts`);
  for (const [what, growth] of Object.entries(GROWTH)) {
    const [from, to] = [before, after].map((each) => each[what as keyof typeof GROWTH]) as [number, number];
    assert.ok(to <= from + growth, `${what}: ${from}, later ${to}`);
  }
  assert.deepEqual(await rig.verdict(), []);
});
