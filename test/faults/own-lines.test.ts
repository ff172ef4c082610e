/** A logger that stands still is killed: what procman itself has said meanwhile is stored by the next one, once and in order. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../../src/core/contract/records.ts";
import { procman as command } from "../support/cli.ts";
import { type FaultRig, folderFor, startRig, successor } from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually } from "../support/procman-process.ts";

const ROUNDS = 3;
const IDS = ["a", "b", "c"];

async function entriesOf(folder: string, id: string): Promise<readonly string[]> {
  const { out } = await command(folder, ["logs", id, "--json", "--category", "lifecycle", "--lines", "10000"]);
  const entries = out
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogEntry);
  return entries.flatMap(({ run, text }) => {
    const [what] = /^(?:started|exited)/.exec(text) ?? [];
    return what === undefined ? [] : [`${run} ${what}`];
  });
}

async function moreRuns(rig: FaultRig, count: number): Promise<void> {
  for (const id of IDS) {
    const { run = 0 } = await rig.until(id, () => true);
    await rig.until(id, (record) => (record.run ?? 0) >= run + count);
  }
}

test("the logger stands still and is killed, again and again: each start and end is in the stored log once, and none twice on the console", async (context) => {
  const folder = folderFor(context);
  const crash = { cmd: "sleep 0.05; exit 3", autostart: true, restart: "always", restartDelayMs: 20 };
  const rig = await startRig(
    context,
    folder,
    IDS.map((id) => ({ id, ...crash })),
  );
  for (let round = 0; round < ROUNDS; round += 1) {
    const { logger } = rig.procman.parts();
    // Half of what is said reaches it.
    await moreRuns(rig, 2);
    for (const pid of logger) kill(pid, "SIGSTOP");
    await moreRuns(rig, 2);
    for (const pid of logger) kill(pid);
    await successor(rig.procman, "logger", logger);
  }
  for (const id of IDS) await rig.act(id, "stop");
  const last = await Promise.all(IDS.map((id) => rig.until(id, ({ status }) => status === "stopped")));
  for (const [index, id] of IDS.entries()) {
    const runs = Array.from({ length: (last[index]?.run ?? 0) - 1 }, (_, run) => [
      `${run + 1} started`,
      `${run + 1} exited`,
    ]).flat();
    // What the last killed logger didn't get is on its way to the next one.
    const stored = await eventually(async () => {
      const entries = await entriesOf(folder, id);
      return entries.length >= runs.length ? entries : undefined;
    });
    assert.deepEqual(stored.slice(0, runs.length), runs, id);
    // A line that is stored may not have reached the console yet when the logger is killed, but none is there twice.
    const shown = rig.output().filter((line) => line.startsWith(`${id} `) && line.includes("| started"));
    assert.deepEqual(shown, [...new Set(shown)]);
  }
  assert.deepEqual(await rig.procman.end(), []);
});
