/** procman is killed while it applies a configuration: the history has that configuration, once, with what became of it. */
import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { HistoryEntry } from "../../src/core/contract/history-record.ts";
import { HistoryStore } from "../../src/core/history/history-store.ts";
import { shownHistory } from "../../src/core/history/shown-history.ts";
import { type FaultRig, folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const POINTS = ["service.kept", "service.decided", "service.sent"] as const;

/** Replaces the file in one step. */
function write(folder: string, seconds: number): void {
  const text = JSON.stringify({ name: "load", processes: [{ id: "web", cmd: `sleep ${seconds}`, autostart: true }] });
  writeFileSync(join(folder, "draft"), text);
  renameSync(join(folder, "draft"), join(folder, "procman.json"));
}

function history({ procman }: FaultRig): readonly (HistoryEntry & { readonly text: string })[] {
  const store = new HistoryStore(procman.stateDir);
  return shownHistory(store).map((entry) => {
    const found = store.read(entry.number);
    const hash = found !== undefined && "entry" in found ? found.entry.files[0]?.hash : undefined;
    return { ...entry, text: hash === undefined ? "" : store.textOf(hash) };
  });
}

for (const [seconds, point] of POINTS.map((each, index) => [1_001 + index, each] as const))
  test(`a reload, killed at ${point}`, async (context: TestContext) => {
    const folder = folderFor(context);
    const { env, arm, reached } = pointsIn(folder, [point]);
    const web = { id: "web", cmd: "sleep 1000", autostart: true };
    const rig = await startRig(context, folder, [web], { env });
    await eventually(() => history(rig)[0]?.active);
    write(folder, seconds);
    arm(point);
    void rig.procman.api.ask("POST", "/reload");
    await reached(point);
    const isNow = (): true | undefined => {
      const [newest] = history(rig);
      return newest?.active === true && newest.text.includes(`sleep ${seconds}`) ? true : undefined;
    };
    await eventually(isNow);
    const [newest, first, ...others] = history(rig);
    assert.deepEqual([first?.result, others.length], ["applied", 0], "one entry for each configuration");
    assert.equal(newest?.text, readFileSync(join(folder, "procman.json"), "utf8"));
    assert.deepEqual(
      newest?.processes?.map(({ action }) => action),
      ["restart"],
    );
    assert.deepEqual(await rig.verdict(), []);
  });
