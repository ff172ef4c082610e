/** procman is killed during a hook: there is never a second copy of it, nothing is left of it, and what it belongs to continues. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { HookName } from "../../src/core/supervisor/states.ts";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

/** Says when it begins, that another copy runs, and when it is over. Descendants hold the lock, too. */
const HOOK = `flock -n -E 99 hook.lock sh -c 'echo begins >> said; sleep 0.5 & wait; echo over >> said'; [ $? = 99 ] && echo twice >> said; true`;
const POINTS = ["service.hook-noted", "service.hook-begun", "service.sent", "keeper.noted"] as const;
const PARTS = [["service"], ["keeper"], ["service", "keeper"], ["keeper", "service", "logger"]] as const;
const HOOKS = ["beforeStart", "afterStop"] as const satisfies readonly HookName[];

const linesIn = (folder: string, file: string): readonly string[] =>
  existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim().split("\n") : [];
const count = (folder: string, text: string): number => linesIn(folder, "said").filter((line) => line === text).length;

/** A process with this hook; `arm`: the file of the failpoint. */
async function rigFor(context: TestContext, hook: HookName, env: NodeJS.ProcessEnv = {}): Promise<FaultRig> {
  const folder = folderFor(context);
  const cmd = "echo $PROCMAN_RUN_ID >> runs; exec sleep 1000";
  const rig = await startRig(context, folder, [{ id: "web", cmd, hooks: { [hook]: HOOK }, terminateTimeout: 1 }], {
    env,
  });
  if (hook === "afterStop") {
    await rig.act("web", "start");
    await rig.until("web", ({ status }) => status === "running");
  }
  return rig;
}

/** What follows after the kill, and the verdict. */
async function continues(rig: FaultRig, hook: HookName): Promise<void> {
  const { folder } = rig;
  await rig.until("web", ({ status }) => status === (hook === "beforeStart" ? "running" : "stopped"));
  await eventually(() => linesIn(folder, "runs").length === 1 || undefined);
  const before = count(folder, "over");
  assert.deepEqual(await rig.procman.end(), []);
  const said = linesIn(folder, "said").join(" ");
  assert.equal(count(folder, "twice"), 0, said);
  // The first copy may have ended by itself while there was no service.
  assert.ok(before >= 1 && before <= 2, said);
  assert.equal(linesIn(folder, "runs").length, 1, "no second run");
}

/** A part may have begun to replace the keeper before it was killed itself, and that keeper may not live long. */
async function revived({ procman }: FaultRig): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    await procman.revive();
    if ((await procman.answered(10_000)) !== undefined) return;
  }
  assert.fail("procman does not answer");
}

const begin = (rig: FaultRig, hook: HookName): Promise<void> =>
  rig.act("web", hook === "beforeStart" ? "start" : "stop");

describe("a hook while procman is killed at a step", { concurrency: 2 }, () => {
  for (const hook of HOOKS)
    for (const point of POINTS)
      test(`${hook}, ${point}`, async (context) => {
        const arm = join(folderFor(context as TestContext), "arm");
        const rig = await rigFor(context as TestContext, hook, { PROCMAN_FAILPOINTS: `${point}=${arm}` });
        writeFileSync(arm, "");
        await begin(rig, hook);
        await eventually(() => !existsSync(arm) || undefined);
        await continues(rig, hook);
      });
});

describe("a hook while parts of procman are killed", { concurrency: 2 }, () => {
  for (const hook of HOOKS)
    for (const parts of PARTS)
      test(`${hook}, ${parts.join(" and ")}`, async (context) => {
        const rig = await rigFor(context as TestContext, hook);
        await begin(rig, hook);
        await eventually(() => count(rig.folder, "begins") === 1 || undefined);
        for (const part of parts) rig.killPart(part);
        if (parts.length === 3) await revived(rig);
        await continues(rig, hook);
      });
});

for (const hook of HOOKS)
  test(`an upgrade during ${hook}: the new service ends the hook and runs it again`, async (context) => {
    const rig = await rigFor(context as TestContext, hook);
    await begin(rig, hook);
    await eventually(() => count(rig.folder, "begins") === 1 || undefined);
    assert.equal(await rig.procman.upgrade(), 0);
    await continues(rig, hook);
  });

test("a stop during beforeStart outlives a kill of the service: the hook is ended, and nothing is started", async (context) => {
  const rig = await rigFor(context as TestContext, "beforeStart");
  await begin(rig, "beforeStart");
  await eventually(() => count(rig.folder, "begins") === 1 || undefined);
  await rig.act("web", "stop");
  rig.killPart("service");
  await rig.until("web", ({ status }) => status === "stopped");
  assert.deepEqual(await rig.procman.end(), []);
  assert.deepEqual([count(rig.folder, "over"), linesIn(rig.folder, "runs").length], [0, 0]);
});
