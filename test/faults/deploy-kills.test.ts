/** The service is killed before and after each step of a deployment: the next one goes on, or goes back, and never stands between. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { DeploymentRecord, DeployStep } from "../../src/core/contract/deployment-record.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { type FaultRig, folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";

const PROGRAMS = fileURLToPath(new URL("../programs", import.meta.url));

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

/** What comes after the switch fails in one that is bad. */
function build(folder: string, version: string, isBad = false): string {
  const place = join(folder, version);
  mkdirSync(place);
  writeFileSync(join(place, "VERSION"), `${version}\n`);
  writeFileSync(join(place, "run.sh"), "exec sleep 1000\n");
  if (isBad) writeFileSync(join(place, "BAD"), "");
  return place;
}

async function latest({ procman }: FaultRig): Promise<DeploymentRecord | undefined> {
  const answer = await procman.api.ask("GET", "/deployments/latest");
  return answer?.status === 200 ? answer.body : undefined;
}

async function over(rig: FaultRig, number: number): Promise<DeploymentRecord> {
  return eventually(
    async () => {
      const record = await latest(rig);
      return record?.number === number && record.step === undefined ? record : undefined;
    },
    { ms: 60_000, what: `the end of deployment ${number}` },
  );
}

/** Where each process runs, once all are up. */
async function folders(rig: FaultRig): Promise<ReadonlySet<string>> {
  const pids = await eventually(async () => {
    const instances = (await rig.records()).flatMap((record) => record.instances ?? [record]);
    const found = instances.flatMap(({ status, pid }) => (status === "running" && pid !== undefined ? [pid] : []));
    return found.length === 3 ? found : undefined;
  });
  return new Set(pids.map((pid) => readlinkSync(`/proc/${pid}/cwd`)));
}

const lines = (path: string): readonly string[] =>
  existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];

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

const ENTRY_CASES = [false, true].flatMap((isBad) =>
  (isBad
    ? (["did-switch", "did-restart", "begun-switch-back", "did-switch-back", "did-restart-back"] as const)
    : (["begun-switch", "did-switch", "begun-restart", "did-restart", "did-clean"] as const)
  ).map((moment) => ({ point: `service.deploy-${moment}` as Failpoint, isBad })),
);

for (const { point, isBad } of ENTRY_CASES)
  test(`a rollback to an entry with another configuration${isBad ? ", which fails" : ""}, killed at ${point}`, async (context: TestContext) => {
    const folder = folderFor(context);
    const { env, arm, reached } = pointsIn(folder, [point]);
    const releases = { after: ["test ! -f ../../BAD || test ! -f ONE"] };
    const configOf = (mode: string): readonly object[] => [
      { id: "web", cwd: "current", cmd: "sh run.sh", autostart: true, minUptimeMs: 100, env: { MODE: mode } },
    ];
    const rig = await startRig(context, folder, configOf("one") as typeof PROCESSES, {
      env,
      config: { releases, api: { exec: true } },
    });
    const file = join(folder, "procman.json");
    const text = (mode: string): string => readFileSync(file, "utf8").replace(/"MODE": "\w+"/, `"MODE": "${mode}"`);
    const one = build(folder, "one");
    writeFileSync(join(one, "ONE"), "");
    await rig.procman.api.ask("POST", "/deployments", { folder: one });
    assert.equal((await over(rig, 1)).result, "done");
    writeFileSync(file, text("two"));
    await rig.procman.api.ask("POST", "/deployments", { folder: build(folder, "two") });
    assert.equal((await over(rig, 2)).result, "done");
    const history = await rig.procman.api.ask("GET", "/history");
    const entry = history?.body.findLast(({ release }: { readonly release?: string }) => release !== undefined);
    if (isBad) writeFileSync(join(folder, "BAD"), "");
    arm(point);
    await rig.procman.api.ask("POST", `/rollback?to=${entry.number}`);
    await reached(point);
    const end = await over(rig, 3);
    const [result, mode] = isBad ? ["taken-back", "two"] : ["done", "one"];
    assert.equal(end.result, result, end.problem);
    assert.equal(readFileSync(file, "utf8"), text(mode));
    assert.deepEqual(lines(join(folder, "current/VERSION")), [mode]);
    const { pid } = await rig.until("web", ({ status }) => status === "running");
    assert.match(readFileSync(`/proc/${pid}/environ`, "utf8"), new RegExp(`MODE=${mode}`));
    assert.equal(readlinkSync(`/proc/${pid}/cwd`), realpathSync(join(folder, "current")));
    assert.deepEqual(await rig.verdict(), []);
  });
