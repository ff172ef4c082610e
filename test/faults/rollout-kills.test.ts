/** The service is killed before and after the deed of a rollout's step: the next one goes on, or says what it doesn't know; nothing is done twice. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type {
  RolloutAction,
  RolloutOrder,
  RolloutRecord,
  RolloutStep,
} from "../../src/core/contract/rollout-record.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { type FaultRig, folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const ID = "20261128-031500-00a1";
const POINTS: readonly Failpoint[] = ["service.rollout-noted", "service.rollout-did"];
const PROCESSES = [
  { id: "web", cmd: "sleep 1000", autostart: true, minUptimeMs: 50 },
  { id: "pair", cmd: "sleep 1000", autostart: true, minUptimeMs: 50, cluster: { instances: 2 } },
  { id: "hup", cmd: "sh -c 'trap \"echo HUP >> hups\" HUP; while :; do sleep 0.05; done'", autostart: true },
  { id: "release", cmd: "sleep 1000", cwd: "current", autostart: true, minUptimeMs: 50 },
];

type Pids = Readonly<Record<string, number | undefined>>;

async function pids(rig: FaultRig): Promise<Pids> {
  const members = (await rig.records()).flatMap((record) => record.instances ?? [record]);
  return Object.fromEntries(members.map(({ id, pid }) => [id, pid]));
}

async function latest({ procman }: FaultRig): Promise<RolloutRecord | undefined> {
  const answer = await procman.api.ask("GET", "/rollout");
  return answer?.status === 200 ? answer.body : undefined;
}

async function step(rig: FaultRig, name: RolloutStep["step"]): Promise<void> {
  const answer = await rig.procman.api.ask("POST", "/rollout/steps", { id: ID, step: name });
  // Cut off by the kill.
  if (answer !== undefined) assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

async function resting(rig: FaultRig): Promise<RolloutRecord> {
  return eventually(
    async () => {
      const record = await latest(rig);
      return record === undefined || /running$/.test(record.phase) ? undefined : record;
    },
    { ms: 60_000, what: "the end of the step" },
  );
}

function build(folder: string): string {
  const place = join(folder, "build");
  mkdirSync(place);
  writeFileSync(join(place, "VERSION"), "two\n");
  return place;
}

type Case = {
  readonly action: (folder: string) => RolloutAction;
  /** Before the step. */
  readonly edit?: (folder: string) => void;
  /** Phase at the end, if it was killed before the deed or after it. */
  readonly ends: readonly [RolloutRecord["phase"], RolloutRecord["phase"]];
  readonly check: (rig: FaultRig, before: Pids) => Promise<void>;
  /** What is the case after the way back. */
  readonly checkBack?: (rig: FaultRig) => Promise<void>;
};

const instances = async (rig: FaultRig): Promise<number | undefined> =>
  (await rig.records()).find(({ id }) => id === "pair")?.instances?.length;

const CASES: Readonly<Record<string, Case>> = {
  restart: {
    action: () => ({ kind: "restart", ids: ["web", "pair"] }),
    ends: ["done", "done"],
    check: async (rig, before) => {
      const after = await pids(rig);
      for (const id of ["web", "pair-1", "pair-2"]) assert.notEqual(after[id], before[id], id);
      for (const id of ["web", "pair-1", "pair-2"]) {
        const answer = await rig.procman.api.ask("GET", `/processes/${id}/runs`);
        assert.equal(answer?.body.length, 2, `${id} was restarted once`);
      }
    },
  },
  scale: {
    action: () => ({ kind: "scale", ids: ["pair"], scaling: { by: 1 } }),
    ends: ["done", "done"],
    check: async (rig) => assert.equal(await instances(rig), 3),
    checkBack: async (rig) => assert.equal(await instances(rig), 2),
  },
  signal: {
    action: () => ({ kind: "signal", ids: ["hup"], signalling: { signal: "HUP" } }),
    ends: ["failed", "failed"],
    check: async (rig) =>
      assert.match((await latest(rig))?.problem ?? "", /whether the processes have got it isn't known/),
  },
  reload: {
    action: () => ({ kind: "reload" }),
    edit: (folder) => replaceIn(folder, '"id":"web","cmd":"sleep 1000"', '"id":"web","cmd":"sleep 999"'),
    ends: ["done", "done"],
    check: async (rig) => {
      const answer = await rig.procman.api.ask("GET", "/processes/web/definition");
      assert.match(JSON.stringify(answer?.body), /sleep 999/);
    },
    checkBack: async (rig) => {
      const answer = await rig.procman.api.ask("GET", "/processes/web/definition");
      assert.match(JSON.stringify(answer?.body), /sleep 1000/);
    },
  },
  deploy: {
    action: (folder) => ({ kind: "deploy", order: { folder: build(folder) } }),
    ends: ["done", "done"],
    check: async (rig) => {
      assert.equal(readFileSync(join(rig.folder, "current/VERSION"), "utf8"), "two\n");
      assert.equal((await rig.procman.api.ask("GET", "/deployments/latest"))?.body.number, 2);
    },
    checkBack: async (rig) => assert.equal(readFileSync(join(rig.folder, "current/VERSION"), "utf8"), "one\n"),
  },
};

function replaceIn(folder: string, from: string, to: string): void {
  const path = join(folder, "procman.json");
  const text = readFileSync(path, "utf8");
  const [found, next] = [JSON.stringify(JSON.parse(text)), JSON.stringify(JSON.parse(text)).replace(from, to)];
  assert.notEqual(found, next);
  writeFileSync(path, next);
}

const orderOf = (action: RolloutAction): RolloutOrder => ({
  id: ID,
  host: "a",
  hosts: ["a"],
  batch: 1,
  maxFailed: 0,
  onFailure: "stop",
  action,
});

async function began(context: TestContext, name: string, points: readonly Failpoint[], releases: object = {}) {
  const folder = folderFor(context);
  const armed = pointsIn(folder, points);
  const rig = await startRig(context, folder, PROCESSES, {
    env: armed.env,
    config: { releases, api: { exec: true } },
  });
  if (name === "deploy") {
    const first = join(folder, "first");
    mkdirSync(first);
    writeFileSync(join(first, "VERSION"), "one\n");
    await rig.procman.api.ask("POST", "/deployments", { folder: first });
    await eventually(
      async () => (await rig.procman.api.ask("GET", "/deployments/latest"))?.body.result === "done" || undefined,
    );
  }
  return { folder, rig, ...armed };
}

for (const [name, { action, edit, ends, check, checkBack }] of Object.entries(CASES))
  for (const [index, point] of POINTS.entries())
    test(`${name}, killed at ${point}`, async (context) => {
      const { folder, rig, arm, reached } = await began(context, name, [point]);
      const before = await pids(rig);
      edit?.(folder);
      const joined = await rig.procman.api.ask("POST", "/rollout/join", orderOf(action(folder)));
      assert.equal(joined?.status, 200);
      arm(point);
      await step(rig, "run");
      await reached(point);
      const end = await resting(rig);
      assert.equal(end.phase, ends[index], end.problem);
      await check(rig, before);
      if (checkBack === undefined) return;
      arm(point);
      await step(rig, "back-run");
      await reached(point);
      const back = await resting(rig);
      assert.equal(back.phase, "taken-back", back.problem);
      await checkBack(rig);
    });

test("an upload stays until the rollout is over here, so that a deployment that has failed can be tried again", async (context) => {
  const { folder, rig } = await began(context, "deploy", [], { prepare: ["test ! -e ../../block"] });
  const upload = join(folder, "procman/uploads/one/folder");
  mkdirSync(upload, { recursive: true });
  writeFileSync(join(upload, "VERSION"), "two\n");
  writeFileSync(join(folder, "block"), "");
  const order = orderOf({ kind: "deploy", order: { folder: upload, uploaded: "build on laptop" } });
  assert.equal((await rig.procman.api.ask("POST", "/rollout/join", order))?.status, 200);
  await step(rig, "run");
  const failed = await resting(rig);
  assert.deepEqual([failed.phase, /test ! -e/.test(failed.problem ?? "")], ["failed", true], failed.problem);
  rmSync(join(folder, "block"));
  await step(rig, "retry");
  await step(rig, "run");
  const done = await resting(rig);
  assert.equal(done.phase, "done", done.problem);
  assert.equal(readFileSync(join(folder, "current/VERSION"), "utf8"), "two\n");
  await step(rig, "release");
  assert.ok(!existsSync(upload));
});
