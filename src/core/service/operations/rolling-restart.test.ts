/** Rolling restarts of a cluster for changed files; the service may be killed at any step. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/support/procman-process.ts";
import {
  configOf,
  exited,
  folder,
  run,
  type Snapshot,
  spawned,
  startService,
} from "../../../../test/support/service-rig.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import type { FromKeeper } from "../../ipc/keeper-protocol.ts";
import { monotonicMs } from "../../os/clock.ts";

const INSTANCES = ["web-1", "web-2", "web-3"] as const;
const web: RawProcess = {
  id: "web",
  cmd: "sleep 1000",
  autostart: true,
  restart: "error",
  restartLimit: 1,
  cluster: { instances: 3 },
};

/** The second run of the first, whose program is gone. */
const FAILED = {
  t: "failed",
  slot: "web-1",
  run: 2,
  errno: "ENOENT",
  step: "program",
  message: "there is no program",
  at: 9,
} as const satisfies FromKeeper;

async function rolling(context: TestContext, stateDir = folder(), snapshot?: Snapshot) {
  const file = { now: configOf(stateDir, [web]) };
  const rig = startService(context, file.now, snapshot, { steadyMs: 50, source: () => file.now });
  if (snapshot === undefined) rig.tell(...INSTANCES.map((id) => spawned(id)));
  await new Promise((resolve) => setImmediate(resolve));
  const notes = rig.channel.notes;
  if (snapshot === undefined) rig.channel.batches.length = 0;
  const requests = (): readonly string[] => rig.channel.requests("spawn", "signal");
  const logged = (): readonly string[] => rig.channel.printed.filter((line) => /changed|roll|any further/.test(line));
  const change = (file: string, shouldRun = true): void =>
    rig.service.rollingRestarts.onFileChange(
      "web",
      { files: [file], count: 1, at: monotonicMs(), ids: INSTANCES },
      () => shouldRun,
    );
  /** Ends the run; the next one is requested. */
  const ends = async (slot: string, next: number): Promise<void> => {
    await eventually(() => requests().includes(`signal ${slot} ${next - 1}`) || undefined);
    rig.tell(exited(slot, next - 1));
    await eventually(() => requests().includes(`spawn ${slot} ${next}`) || undefined);
  };
  const up = (slot: string, number: number): void =>
    rig.tell({ ...spawned(slot, number), since: monotonicMs() } as never);
  const restart = async (slot: string, next = 2): Promise<void> => {
    await ends(slot, next);
    up(slot, next);
  };
  const tellsOf = (line: RegExp): Promise<true> =>
    eventually(() => rig.channel.printed.some((each) => line.test(each)) || undefined);
  const killed = async (...runs: readonly (readonly [string, number])[]): Promise<Snapshot> => {
    await rig.service.retire();
    return {
      running: runs.map(([slot, number]) => ({ ...run(slot, number), since: number > 1 ? monotonicMs() : 5 })),
      notes: { ...notes, ...rig.channel.notes },
    };
  };
  const write = (...processes: readonly RawProcess[]): void => {
    file.now = configOf(stateDir, processes);
  };
  return { ...rig, write, requests, logged, change, ends, up, restart, tellsOf, killed };
}

test("a changed file restarts one instance after another; each log line names the file", async (context) => {
  const rig = await rolling(context);
  rig.change("src/a.ts");
  await rig.ends("web-1", 2);
  assert.deepEqual(rig.requests(), ["signal web-1 1", "spawn web-1 2"]);
  rig.up("web-1", 2);
  await rig.restart("web-2");
  await rig.restart("web-3");
  await rig.tellsOf(/the rolling restart is done/);
  assert.deepEqual(rig.logged(), [
    ...INSTANCES.map(() => "restarts: src/a.ts has changed"),
    "the rolling restart is done",
  ]);
  assert.equal(rig.channel.notes[":rolls"], "");
});

test("a change during a rolling restart leads to another, of the instances that started before the change", async (context) => {
  const rig = await rolling(context);
  rig.change("src/a.ts");
  await rig.restart("web-1");
  await rig.ends("web-2", 2);
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (const file of ["src/b.ts", "src/c.ts", "src/b.ts"]) rig.change(file);
  rig.up("web-2", 2);
  await rig.restart("web-3");
  await rig.restart("web-1", 3);
  await eventually(
    () => rig.logged().filter((line) => line === "the rolling restart is done").length === 2 || undefined,
  );
  assert.deepEqual(rig.logged(), [
    "restarts: src/a.ts has changed",
    "restarts: src/a.ts has changed",
    "src/b.ts has changed meanwhile: instances started before that are restarted after this rolling restart",
    "restarts: src/a.ts has changed",
    "the rolling restart is done",
    "restarts: src/b.ts and another have changed",
    "the rolling restart is done",
  ]);
  assert.deepEqual(
    rig.requests().filter((each) => each.startsWith("spawn")),
    ["spawn web-1 2", "spawn web-2 2", "spawn web-3 2", "spawn web-1 3"],
  );
});

test("an instance that doesn't come up ends the rolling restart; with the next change it is tried first, and the others wait for it", async (context) => {
  const rig = await rolling(context);
  rig.change("src/a.ts");
  await rig.ends("web-1", 2);
  rig.tell(FAILED);
  await rig.tellsOf(
    /^Cannot restart "web" any further: "web-1" did not come up: .*; web-2, web-3 keep running as before; with the next change "web-1" is tried first$/,
  );
  assert.deepEqual(rig.requests(), ["signal web-1 1", "spawn web-1 2"]);
  rig.change("src/a.ts");
  await eventually(() => rig.requests().includes("spawn web-1 3") || undefined);
  assert.deepEqual(rig.requests().slice(2), ["spawn web-1 3"]);
  rig.up("web-1", 3);
  await rig.restart("web-2");
  await rig.restart("web-3");
  await rig.tellsOf(/the rolling restart is done/);
});

test("a change while an instance fails to come up is tried at once", async (context) => {
  const rig = await rolling(context);
  rig.change("src/a.ts");
  await rig.ends("web-1", 2);
  rig.change("src/mended.ts");
  rig.tell(FAILED);
  await eventually(() => rig.requests().includes("spawn web-1 3") || undefined);
  rig.up("web-1", 3);
  await rig.restart("web-2");
  await rig.restart("web-3");
  await rig.tellsOf(/the rolling restart is done/);
  assert.ok(rig.logged().includes("restarts: src/a.ts and another have changed"));
});

test("`shouldRun` is called once for each rolling restart, and a stop ends it together with the queued change", async (context) => {
  const rig = await rolling(context);
  rig.change("src/a.ts", false);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.requests(), []);
  rig.change("src/a.ts");
  await rig.ends("web-1", 2);
  rig.change("src/b.ts");
  rig.service.operations.cancel({ kind: "stop", targets: ["web"] }, "stop was requested");
  rig.up("web-1", 2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.deepEqual(rig.requests(), ["signal web-1 1", "spawn web-1 2"]);
  assert.equal(rig.channel.notes[":rolls"], "");
});

test("a service that is killed during a rolling restart: the next one resumes it, also with the queued change", async (context) => {
  const stateDir = folder();
  const first = await rolling(context, stateDir);
  first.change("src/a.ts");
  await first.restart("web-1");
  await first.ends("web-2", 2);
  await new Promise((resolve) => setTimeout(resolve, 5));
  first.change("src/b.ts");
  await new Promise((resolve) => setImmediate(resolve));
  const rig = await rolling(context, stateDir, await first.killed(["web-1", 2], ["web-2", 2], ["web-3", 1]));
  await rig.tellsOf(/resuming the rolling restart at "web-2"/);
  await rig.restart("web-3");
  await rig.restart("web-1", 3);
  await eventually(
    () => rig.logged().filter((line) => line === "the rolling restart is done").length === 2 || undefined,
  );
  assert.deepEqual(
    rig.logged().filter((line) => line.startsWith("restarts")),
    ["restarts: src/a.ts has changed", "restarts: src/b.ts has changed"],
  );
});

for (const [what, left] of [
  ["the instance that a rolling restart waits for", [{ ...web, cluster: { instances: 2 } }]],
  ["the whole cluster", []],
] as const)
  test(`a reload removes ${what}: the rolling restart ends without a failure, and the service goes on`, async (context) => {
    const rig = await rolling(context);
    rig.change("src/a.ts");
    for (const id of ["web-1", "web-2"]) await rig.restart(id);
    await rig.ends("web-3", 2);
    rig.up("web-3", 2);
    rig.write(...left);
    void rig.service.reloads.reload("test");
    await eventually(() => rig.requests().includes("signal web-3 2") || undefined);
    for (const id of left.length === 0 ? INSTANCES : ["web-3"]) rig.tell(exited(id, 2));
    await eventually(() => rig.channel.notes[":rolls"] === "" || undefined);
    const names = (): string => rig.service.supervisor.processes.map(({ id }) => id).join();
    await eventually(() => names() === (left.length === 0 ? "" : "web-1,web-2") || undefined);
    assert.ok(!rig.channel.printed.some((line) => /any further|bug/.test(line)), rig.channel.printed.join("\n"));
  });

test("a bug in a rolling restart for a changed file ends that alone, and is logged", async (context) => {
  const rig = await rolling(context);
  context.mock.method(rig.service.operations, "blockingOperation", () => assert.fail("a bug"));
  context.mock.method(rig.service.supervisor, "isRemoved", () => assert.fail("another bug"));
  rig.change("src/a.ts");
  await rig.tellsOf(/^Cannot restart "web" any further: this is a bug: AssertionError/);
  assert.equal(rig.channel.notes[":rolls"], "");
});
