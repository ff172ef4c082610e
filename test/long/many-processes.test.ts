/** 500 processes, and all parts of procman are killed, or keeper and service: all are adopted, none is started twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { folderFor, startRig, successor } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const COUNT = 500;

test(`${COUNT} processes keep their pids when keeper and service, then all parts are killed, and all end with procman`, async (context) => {
  const folder = folderFor(context);
  const processes = Array.from({ length: COUNT }, (_, index) => ({
    id: `p${index}`,
    cmd: "sleep 1000",
    autostart: true,
    restart: "always",
  }));
  const rig = await startRig(context, folder, processes);
  const pids = async (): Promise<readonly (number | undefined)[]> => {
    for (const limit = performance.now() + 30_000; performance.now() < limit; ) {
      const records = await rig.records();
      if (records.every(({ status }) => status === "running")) return records.map(({ pid }) => pid);
    }
    throw new Error("not all of them run");
  };
  const before = await pids();
  assert.equal(new Set(before).size, COUNT);
  for (const parts of [["keeper", "service"], ["everything"]] as const) {
    const { keeper } = rig.procman.parts();
    for (const part of parts) rig.killPart(part);
    if (parts[0] === "everything") {
      await eventually(() => (rig.procman.parts().keeper.length === 0 ? true : undefined));
      rig.procman.start();
    }
    await successor(rig.procman, "keeper", keeper);
    assert.deepEqual(await pids(), before, parts.join());
  }
  assert.deepEqual(await rig.verdict(), []);
});
