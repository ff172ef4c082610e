/** Several procman are started at the very same moment with one state folder: one of them runs, and nothing is started twice. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderFor, startRig } from "../support/fault-rig.ts";
import { eventually, isAlive } from "../support/procman-process.ts";

const COUNT = 6;
const ROUNDS = 4;

test(`${COUNT} procman are started at once, on a clean folder, after a kill of everything, and during a failover: one runs, nothing twice`, async (context) => {
  const folder = folderFor(context);
  const cmd = "echo $$ >> starts; exec sleep 1000";
  const rig = await startRig(context, folder, [{ id: "steady", cmd, autostart: true, restart: "always" }], {
    also: COUNT - 1,
  });
  const { pid } = await rig.until("steady", ({ status }) => status === "running");
  for (let round = 0; round < ROUNDS; round += 1)
    for (const what of ["everything", "keeper"] as const) {
      const before = rig.procman.parts().keeper;
      rig.killPart(what);
      const others = Array.from({ length: COUNT }, () => rig.procman.start());
      await eventually(() => (before.some((each) => isAlive(each)) ? undefined : true));
      assert.equal(
        (await rig.until("steady", ({ status }) => status === "running")).pid,
        pid,
        `${what}, round ${round}`,
      );
      await eventually(() => (others.filter(({ exitCode }) => exitCode === null).length <= 1 ? true : undefined));
      await eventually(() =>
        rig.procman.parts().keeper.length === 1 && rig.procman.parts().service.length === 1 ? true : undefined,
      );
    }
  assert.equal(readFileSync(join(folder, "starts"), "utf8"), `${pid}\n`);
  assert.deepEqual(await rig.verdict(), []);
});
