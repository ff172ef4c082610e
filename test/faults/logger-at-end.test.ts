/** The logger is killed before the end of procman, or while it writes the last lines: the next one writes the rest (spec 8). */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { type FaultRig, folderFor, pointsIn, startRig, successor } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const LAST_WORDS = Array.from({ length: 1_000 }, (_, index) => `last word ${index + 1}`);

/** Its program prints when it is told to end. */
async function rigWithLastWords(context: TestContext, points: readonly Failpoint[] = []) {
  const folder = folderFor(context);
  const log = join(folder, "logs/last.log");
  const cmd = "trap 'seq -f \"last word %g\" 1000; exit 0' TERM; echo up; while :; do sleep 0.05; done";
  const faults = pointsIn(folder, points);
  const rig = await startRig(
    context,
    folder,
    [{ id: "last", cmd, autostart: true, logger: { stdout: "logs/last.log" } }],
    {
      env: faults.env,
    },
  );
  const lines = (): readonly string[] => (existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : []);
  await eventually(() => lines().includes("up") || undefined);
  return { rig, ...faults, printed: () => lines().filter((line) => line.startsWith("last word")) };
}

/** Each time the next logger waits longer for its start. */
async function killLoggers(rig: FaultRig, times: number): Promise<void> {
  for (let count = 1; count < times; count += 1) await successor(rig.procman, "logger", rig.killPart("logger"));
  rig.killPart("logger");
}

for (const times of [1, 8])
  test(`the logger was killed ${times} times in a row when procman ends: all last lines are in the log`, async (context) => {
    const { rig, printed } = await rigWithLastWords(context as TestContext);
    await killLoggers(rig, times);
    assert.deepEqual(await rig.verdict({ loggersKilled: times }), []);
    assert.deepEqual(printed(), LAST_WORDS);
  });

test("a logger that is killed while it writes the last lines: the end goes on with the next one", async (context) => {
  const { rig, printed, arm, reached } = await rigWithLastWords(context as TestContext, ["logger.written"]);
  arm("logger.written");
  assert.deepEqual(await rig.verdict({ loggersKilled: 1 }), []);
  await reached("logger.written");
  assert.deepEqual(printed(), LAST_WORDS);
});
