/** The service is killed during a deployment with warm instances: at the end all are of one release, with the numbers of before. */
import assert from "node:assert/strict";
import { readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { type FaultRig, folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";
import { build, lines, over } from "../support/release-rig.ts";

const PROGRAMS = fileURLToPath(new URL("../programs", import.meta.url));

/** `isBad`: what comes after the switch fails, so that it goes back. */
const WARM_CASES = [
  ...(["noted", "added", "rests"] as const).flatMap((moment) =>
    [false, true].map((isBad) => ({ point: `service.warm-${moment}` as Failpoint, isBad })),
  ),
  ...[false, true].map((isBad) => ({ point: "service.warm-removed" as Failpoint, isBad })),
  ...(["begun", "did"] as const).flatMap((moment) => [
    { point: `service.deploy-${moment}-gate` as Failpoint, isBad: false },
    { point: `service.deploy-${moment}-promote` as Failpoint, isBad: false },
    { point: `service.deploy-${moment}-switch-back` as Failpoint, isBad: true },
    { point: `service.deploy-${moment}-restart-back` as Failpoint, isBad: true },
  ]),
];

for (const { point, isBad } of WARM_CASES)
  test(`${isBad ? "a bad release" : "a release"} with "warm", killed at ${point}`, async (context: TestContext) => {
    const folder = folderFor(context);
    const startPort = await freeRange();
    const { env, arm, reached } = pointsIn(folder, [point]);
    const web = {
      id: "web",
      cmd: `node ${join(PROGRAMS, "answer-with-pid.js")} $PROCMAN_CLUSTER_PORT`,
      cwd: "current",
      autostart: true,
      minUptimeMs: 100,
      cluster: { instances: 2, commonPort: startPort + 8, startPort },
    };
    const releases = { warm: true, after: ["test ! -f BAD"], gate: { seconds: 1 } };
    const rig = await startRig(context, folder, [web], { env, config: { releases, api: { exec: true } } });
    const deploy = async (place: string): Promise<void> =>
      assert.equal((await rig.procman.api.ask("POST", "/deployments", { folder: place }))?.status, 200);
    await deploy(build(folder, "one"));
    const first = await over(rig, 1);
    assert.equal(first.result, "done", first.problem);
    const before = await pidsOf(rig);
    arm(point);
    await deploy(build(folder, "two", isBad));
    await reached(point);
    const end = await over(rig, 2);
    assert.equal(end.result, isBad ? "taken-back" : "done", end.problem);
    const present = realpathSync(join(folder, "current"));
    assert.deepEqual(lines(join(present, "VERSION")), [isBad ? "one" : "two"]);
    const after = await eventually(async () => {
      const found = await pidsOf(rig);
      return found.length === 2 ? found : undefined;
    });
    for (const pid of after) assert.equal(readlinkSync(`/proc/${pid}/cwd`), present);
    if (isBad) assert.deepEqual(after, before, "the instances of before were not restarted");
    const [cluster] = await eventually(async () => {
      const found = await rig.records();
      return found[0]?.instances?.every(({ backend }) => backend?.accepting === true) ? found : undefined;
    });
    assert.deepEqual(
      cluster?.instances?.map(({ id }) => id),
      ["web-1", "web-2"],
    );
    assert.deepEqual(await rig.verdict(), []);
  });

async function pidsOf(rig: FaultRig): Promise<readonly number[]> {
  const instances = (await rig.records()).flatMap((record) => record.instances ?? [record]);
  return instances.flatMap(({ pid }) => pid ?? []);
}
