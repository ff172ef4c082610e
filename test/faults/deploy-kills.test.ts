/** The service is killed before and after each step of a deployment: the next one goes on, or goes back, and never stands between. */
import assert from "node:assert/strict";
import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { DeployStep } from "../../src/core/contract/deployment-record.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { type FaultRig, folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";
import { build, lines, over } from "../support/release-rig.ts";

const FORWARD: readonly DeployStep[] = [
  "copy",
  "prepare",
  "before",
  "switch",
  "restart",
  "after",
  "gate",
  "promote",
  "clean",
];
const BACK: readonly DeployStep[] = ["after", "switch-back", "restart-back", "after-back"];

const RELEASES = {
  keep: 1,
  prepare: ["test -f VERSION && echo prepared > PREPARED"],
  before: ["cat VERSION >> ../../befores"],
  after: ["cat VERSION >> ../../afters", "test ! -f BAD"],
  gate: { seconds: 1 },
};
const PROCESSES = [
  {
    id: "web",
    cwd: "current",
    cmd: "sh run.sh",
    autostart: true,
    restart: "always",
    restartDelayMs: 50,
    minUptimeMs: 100,
  },
  { id: "pair", cwd: "current", cmd: "sh run.sh", autostart: true, minUptimeMs: 100, cluster: { instances: 2 } },
];

/** Where each process runs, once all are up. */
async function folders(rig: FaultRig): Promise<ReadonlySet<string>> {
  const pids = await eventually(async () => {
    const instances = (await rig.records()).flatMap((record) => record.instances ?? [record]);
    const found = instances.flatMap(({ status, pid }) => (status === "running" && pid !== undefined ? [pid] : []));
    return found.length === 3 ? found : undefined;
  });
  return new Set(pids.map((pid) => readlinkSync(`/proc/${pid}/cwd`)));
}

const CASES = [
  ...FORWARD.map((step) => ({ step, isBad: false })),
  ...BACK.map((step) => ({ step, isBad: true })),
].flatMap(({ step, isBad }) =>
  (["begun", "did"] as const).map((moment) => ({ point: `service.deploy-${moment}-${step}` as Failpoint, isBad })),
);

for (const { point, isBad } of CASES)
  test(`${isBad ? "a bad release" : "a release"}, killed at ${point}`, async (context: TestContext) => {
    const folder = folderFor(context);
    const { env, arm, reached } = pointsIn(folder, [point]);
    const rig = await startRig(context, folder, PROCESSES, {
      env,
      config: { releases: RELEASES, api: { exec: true } },
    });
    assert.equal((await rig.procman.api.ask("POST", "/deployments", { folder: build(folder, "one") }))?.status, 200);
    const first = await over(rig, 1);
    assert.equal(first.result, "done", first.problem);
    arm(point);
    await rig.procman.api.ask("POST", "/deployments", { folder: build(folder, "two", isBad) });
    await reached(point);
    const end = await over(rig, 2);
    // What runs once isn't repeated.
    const isCut = point === "service.deploy-begun-before" || point === "service.deploy-did-before";
    assert.equal(end.result, isBad ? "taken-back" : isCut ? "failed" : "done", end.problem);
    const present = realpathSync(join(folder, "current"));
    const version = end.result === "done" ? "two" : "one";
    assert.deepEqual(lines(join(present, "VERSION")), [version]);
    assert.deepEqual(lines(join(present, "PREPARED")), ["prepared"]);
    assert.deepEqual([...(await folders(rig))], [present]);
    assert.ok(lines(join(folder, "befores")).filter((line) => line === "two").length <= 1);
    assert.equal(lines(join(folder, "afters")).at(-1), version);
    if (!isBad) assert.equal(readdirSync(join(folder, "releases")).length, 1);
    assert.deepEqual(await rig.verdict(), []);
  });
