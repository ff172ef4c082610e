/** procman is killed at each step while it makes up for a missed start: one run is made for it. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { folderFor, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const POINTS = [
  "service.decided",
  "service.sent",
  "keeper.noted",
  "keeper.asked",
  "keeper.forked",
  "keeper.recorded",
  "keeper.over",
] as const;
const CRON = "0 3 * * *";

describe("2.2 cron, catchUp: a missed start is made up for by one run, with a kill at", { concurrency: 3 }, () => {
  for (const point of POINTS) test(point, (context) => killedAt(point, context as TestContext));
});

async function killedAt(point: Failpoint, context: TestContext): Promise<void> {
  const folder = folderFor(context);
  const state = join(folder, ".procman/load");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const plan = { cron: CRON, planned: Date.now() - 3 * 24 * 3_600_000 };
  writeFileSync(join(state, "lasting.json"), JSON.stringify({ plans: { job: plan } }));
  const arm = join(folder, "arm");
  writeFileSync(arm, "");
  const job = { id: "job", cmd: "echo $PROCMAN_RUN_ID >> runs", cron: CRON, catchUp: true };
  const rig = await startRig(context, folder, [job], { env: { PROCMAN_FAILPOINTS: `${point}=${arm}` } });
  await eventually(() => (existsSync(arm) ? undefined : true));
  const runs = (): readonly string[] =>
    existsSync(join(folder, "runs")) ? readFileSync(join(folder, "runs"), "utf8").trim().split("\n") : [];
  await rig.until("job", ({ status }) => status === "finished" || status === "errored");
  // A service that comes later, from what is noted, starts it neither.
  const before = rig.procman.parts().service;
  rig.killPart("service");
  await eventually(() => rig.procman.parts().service.find((pid) => !before.includes(pid)));
  await rig.records();
  assert.deepEqual(await rig.procman.end(), []);
  // A keeper that dies between the record of a start and the fork leaves a run whose end is unknown, as always: it is
  // not repeated.
  assert.equal(runs().length, point === "keeper.asked" ? 0 : 1, runs().join(" "));
  const { planned } = (
    JSON.parse(readFileSync(join(state, "lasting.json"), "utf8")) as { plans: { job: { planned: number } } }
  ).plans.job;
  assert.ok(planned > Date.now(), "the next start is that of tomorrow");
}
