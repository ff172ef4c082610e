/** procman is killed while it applies a configuration: the history has that configuration, once, with what became of it. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
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

for (const point of ["service.rollback-noted", "service.rollback-begun", "service.kept", "service.sent"] as const)
  test(`a rollback, killed at ${point}: the files are those of the entry, as a whole, and are applied`, async (context: TestContext) => {
    const folder = folderFor(context);
    const { env, arm, reached } = pointsIn(folder, [point]);
    const part = (seconds: number): string =>
      JSON.stringify({ processes: [{ id: "job", cmd: `sleep ${seconds}`, autostart: true }] });
    const web = { id: "web", cmd: "sleep 1000", autostart: true };
    writeFileSync(join(folder, "part.json"), part(1_000));
    const profiles = { production: { env: { MODE: "production" } } };
    const rig = await startRig(context, folder, [web], { env, config: { include: ["part.json"], profiles } });
    await eventually(() => history(rig)[0]?.active);
    const first = readFileSync(join(folder, "procman.json"), "utf8");
    writeFileSync(join(folder, "part.json"), part(2_000));
    writeFileSync(join(folder, "procman.json"), first.replace("sleep 1000", "sleep 2000"));
    await rig.procman.api.ask("POST", "/reload?profile=production&wait=20");
    await eventually(() => history(rig)[0]?.number === 2 || undefined);
    arm(point);
    void rig.procman.api.ask("POST", "/rollback?to=1");
    await reached(point);
    // It was killed by the first message of any kind, maybe before it had read the request: that is repeated.
    if (point === "service.sent")
      await eventually(async () => (await rig.procman.api.ask("POST", "/rollback?to=1"))?.status === 200 || undefined);
    await eventually(() => {
      const [newest] = history(rig);
      return newest?.active === true && newest.number > 2 && newest.text === first ? true : undefined;
    });
    assert.deepEqual(
      ["procman.json", "part.json"].map((name) => readFileSync(join(folder, name), "utf8")),
      [first, part(1_000)],
    );
    await eventually(() => (existsSync(join(rig.procman.stateDir, "history/rollback.json")) ? undefined : true));
    assert.deepEqual(
      history(rig).map(({ result }) => result),
      history(rig).map(() => "applied"),
    );
    assert.equal(history(rig)[0]?.profile, undefined, "the profile is that of the entry, too");
    assert.deepEqual(await rig.verdict(), []);
  });
