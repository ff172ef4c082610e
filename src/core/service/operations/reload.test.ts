/** Reload of a changed configuration; the service may be killed at any step. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { freePort } from "../../../../test/support/free-ports.ts";
import { eventually, inTime } from "../../../../test/support/procman-process.ts";
import {
  configOf,
  exited,
  folder,
  run,
  type Snapshot,
  spawned,
  startService,
} from "../../../../test/support/service-rig.ts";
import { ProcmanError } from "../../base/errors.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import type { Config } from "../../config/spec.ts";
import type { PlanRecord } from "../../contract/plan.ts";

const sleeper = (id: string, more: Partial<RawProcess> = {}): RawProcess => ({
  id,
  cmd: "sleep 1000",
  autostart: true,
  ...more,
});
const web = (cmd = "sleep 1000"): RawProcess => sleeper("web", { cmd, cluster: { instances: 3 } });
const INSTANCES = ["web-1", "web-2", "web-3"] as const;

/** What the fake keeper and these tests answer takes milliseconds. Kept so short that a broken reload fails each test before the file's time is over. */
const WAIT_MS = 10_000;

const until = (isSo: () => boolean, what: string): Promise<true> =>
  eventually(() => isSo() || undefined, { what, ms: WAIT_MS });

type Rig = Awaited<ReturnType<typeof serving>>;

/** A service with these processes running, and a file that can be changed. */
async function serving(context: TestContext, stateDir: string, processes: readonly RawProcess[], snapshot?: Snapshot) {
  const file = { now: configOf(stateDir, processes) as Config | Error };
  const source = (): Config => {
    if (file.now instanceof Error) throw file.now;
    return file.now;
  };
  const first = source();
  const rig = startService(context, first, snapshot, { source, steadyMs: 100 });
  if (snapshot === undefined) rig.tell(...first.processes.map(({ id }) => spawned(id)));
  await new Promise((resolve) => setImmediate(resolve));
  const notes = rig.channel.notes;
  if (snapshot === undefined) rig.channel.batches.length = 0;
  const write = (...next: readonly RawProcess[]): void => {
    file.now = configOf(stateDir, next);
  };
  /** What a service that is killed now leaves behind: the snapshot for the next one. */
  const killed = async (...runs: readonly (readonly [string, number])[]): Promise<Snapshot> => {
    await inTime(rig.service.retire(), { what: "the service's end", ms: WAIT_MS });
    return { running: runs.map(([slot, number]) => run(slot, number)), notes: { ...notes, ...rig.channel.notes } };
  };
  const requests = (): readonly string[] => rig.channel.requests("spawn", "signal", "route");
  const reload = (options: { readonly waitSeconds?: number } = {}): Promise<PlanRecord> =>
    inTime(rig.service.reloads.reload("test", options), { what: "the end of the reload" });
  return { ...rig, file, write, killed, requests, reload, notes: () => ({ ...notes, ...rig.channel.notes }) };
}

/** Ends the run; the next one comes up. */
async function again({ channel, tell }: Rig, slot: string, number = 2): Promise<void> {
  await until(
    () => channel.requests("signal").includes(`signal ${slot} ${number - 1}`),
    `the signal for run ${number - 1} of ${slot}`,
  );
  tell(exited(slot, number - 1));
  await until(() => channel.requests("spawn").includes(`spawn ${slot} ${number}`), `run ${number} of ${slot}`);
  tell(spawned(slot, number));
}

const requested = (rig: Rig, request: string): Promise<true> =>
  until(() => rig.requests().includes(request), `the request ${request}`);
const over = (rig: Rig): Promise<true> => until(() => rig.notes()[":reload"] === "", "the reload's note to be removed");
const waitForLine = ({ channel }: Rig, line: RegExp): Promise<true> =>
  until(() => channel.printed.some((text) => line.test(text)), `a line like ${line}`);
const commandOf = (note: string | undefined, id: string): unknown => {
  const { config } = JSON.parse(note ?? "") as { config: { processes: { id: string; command: { line: string } }[] } };
  return config.processes.find((spec) => spec.id === id)?.command.line;
};

test("only the processes that the change concerns are touched; the new configuration is noted in the same array as the commands", async (context) => {
  const many = Array.from({ length: 20 }, (_, index) => sleeper(`p${index}`));
  const rig = await serving(context, folder(), [...many, sleeper("old"), sleeper("eased")]);
  rig.write(
    ...many.slice(1),
    sleeper("eased", { restartDelayMs: 5 }),
    sleeper("p0", { cmd: "sleep 2000" }),
    sleeper("new"),
  );
  const before = rig.notes()[":config"];
  const plan = rig.service.reloads.plan();
  assert.deepEqual(
    plan.processes
      .filter(({ action }) => action !== "none")
      .map(({ process, action, reason }) => [process, action, reason]),
    [
      ["eased", "in-place", "its restartDelayMs has changed"],
      ["p0", "restart", "its cmd has changed"],
      ["new", "start", "is new"],
      ["old", "stop", "is no longer in the configuration"],
    ],
  );
  assert.deepEqual(rig.requests(), [], "a plan does nothing");
  void rig.service.reloads.reload("test");
  const batch = rig.batchOf(":config");
  // Restart orders for runs of the old configuration are withdrawn as well.
  const deeds = batch.filter(({ t }) => t === "signal" || t === "spawn");
  assert.deepEqual(
    deeds.map((each) => ("slot" in each ? `${each.t} ${each.slot}` : each.t)),
    ["signal old", "signal p0", "spawn new"],
  );
  assert.notEqual(rig.notes()[":config"], before);
  assert.deepEqual(rig.requests().length, 3);
  assert.equal(rig.notes()[":reload"], undefined, "what needs no waiting needs no memory");
});

test("an invalid file changes nothing, whether the reload came by API or by SIGHUP", async (context) => {
  const rig = await serving(context, folder(), [sleeper("web")]);
  rig.file.now = new ProcmanError("configuration-invalid", "Cannot use procman.json: 1 problem\n\nprocman.json:1:2");
  assert.throws(() => rig.service.reloads.plan(), { code: "configuration-invalid" });
  await assert.rejects(rig.reload(), { code: "configuration-invalid" });
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  await waitForLine(rig, /^procman\.json:1:2$/);
  await waitForLine(rig, /^everything stays as it was$/);
  assert.deepEqual(rig.requests(), []);
});

test("SIGHUP reloads the file; settings that can't change while procman runs are named", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [sleeper("web")]);
  rig.file.now = configOf(stateDir, [sleeper("web", { cmd: "sleep 2000" })], {
    api: { port: 9_000, revoked: ["eve"] },
    logger: { internalLogHours: 1 },
    watcher: { interval: 50 },
  });
  const settings = (): readonly string[] =>
    rig.service.reloads.plan().settings.map(({ field, takesEffect }) => `${field} ${takesEffect}`);
  assert.deepEqual(settings(), [
    "api.port next-run",
    "api.revoked in-place",
    "watcher in-place",
    "logger.internalLogHours in-place",
  ]);
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  await waitForLine(rig, /^reload \(SIGHUP\): web restarts, api.revoked, watcher, logger.internalLogHours$/);
  assert.deepEqual(rig.requests(), ["signal web 1"]);
  assert.ok(
    rig.channel.batches
      .flat()
      .some((each) => each.t === "logger" && each.message.t === "style" && each.message.store?.hours === 1),
  );
  assert.deepEqual(settings(), ["api.port next-run"]);
});

test("a shutdown that begins while a reload checks its ports comes first", async (context) => {
  const rig = await serving(context, folder(), [sleeper("web")]);
  rig.write(sleeper("web", { cluster: { instances: 2, commonPort: await freePort() } }));
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  void rig.service.terminate("test");
  await waitForLine(rig, /^Cannot reload: everything is being stopped/);
  assert.ok(!rig.channel.printed.some((line) => line.startsWith("reload (SIGHUP)")));
});

test("2.2 the instances of a cluster are restarted one after another; another reload waits for that", async (context) => {
  const rig = await serving(context, folder(), [web(), sleeper("db")]);
  rig.write(web("sleep 2000"), sleeper("db", { cmd: "sleep 2000" }));
  const answer = rig.reload({ waitSeconds: 20 });
  rig.tellSynced();
  assert.deepEqual(rig.requests(), ["signal web-1 1", "signal db 1"]);
  await assert.rejects(rig.reload(), { code: "reload-running" });
  for (const id of ["db", ...INSTANCES]) {
    assert.equal(rig.requests().includes("signal web-3 1"), id === "web-3");
    await again(rig, id);
    if (id !== "web-3") await requested(rig, `signal web-${id === "web-1" ? 2 : id === "db" ? 1 : 3} 1`);
  }
  const { processes } = await answer;
  assert.deepEqual(
    processes.map(({ process, rolling, problem }) => [process, rolling, problem]),
    [...INSTANCES.map((id) => [id, true, undefined]), ["db", false, undefined]],
  );
  await over(rig);
});

test("a plain process that ends before minUptimeMs is not up, whether its policy starts it again or not", async (context) => {
  const ids = ["once", "again", "web", "quick"];
  const policies: Readonly<Record<string, Partial<RawProcess>>> = {
    once: { minUptimeMs: 60_000, restartLimit: 0 },
    again: { minUptimeMs: 60_000, restart: "always" },
    quick: { minUptimeMs: 0 },
  };
  const config = (cmd: string): readonly RawProcess[] => ids.map((id) => sleeper(id, { cmd, ...policies[id] }));
  const rig = await serving(context, folder(), config("sleep 1000"));
  rig.write(...config("sleep 2000"));
  const answer = rig.service.reloads.reload("test", { waitSeconds: 20 });
  rig.tellSynced();
  for (const id of ids) await again(rig, id);
  for (const id of ids.filter((each) => each !== "web")) rig.tell(exited(id, 2, 3));
  const { processes } = await answer;
  assert.deepEqual(
    processes.map(({ process, problem = "" }) => [
      process,
      /^exited with code 3/.test(problem),
      /it was restarted/.test(problem),
    ]),
    [
      ["once", true, false],
      ["again", true, true],
      ["web", false, false],
      ["quick", false, false],
    ],
  );
});

test("an instance that takes the port of another is restarted after that one", async (context) => {
  const at = (startPort: number) => sleeper("web", { cluster: { instances: 3, startPort } });
  for (const [from, to, order] of [
    [3_000, 3_001, ["web-3", "web-2", "web-1"]],
    [3_000, 3_002, ["web-2", "web-3", "web-1"]],
    [3_001, 3_000, ["web-1", "web-2", "web-3"]],
  ] as const) {
    const rig = await serving(context, folder(), [at(from)]);
    rig.write(at(to));
    rig.reload({ waitSeconds: 20 }).catch((error: Error) => assert.fail(error));
    rig.tellSynced();
    for (const id of order) await again(rig, id);
    await over(rig);
    assert.deepEqual(
      rig.requests().filter((each) => each.startsWith("spawn")),
      order.map((id) => `spawn ${id} 2`),
    );
  }
});

test("an instance that does not come up stops the rollout: it is rolled back", async (context) => {
  const rig = await serving(context, folder(), [web(), sleeper("db")]);
  rig.write(web("exit 3"), sleeper("db", { cmd: "sleep 2000" }));
  const answer = rig.reload({ waitSeconds: 20 });
  rig.tellSynced();
  const refused = assert.rejects(answer, {
    code: "reload-failed",
    message: /"web-1" did not come up .*exited with code 3.*; it was restarted.*is restored/,
  });
  await again(rig, "db");
  await again(rig, "web-1");
  rig.tell(exited("web-1", 2, 3));
  await requested(rig, "signal db 2");
  assert.equal(commandOf(rig.notes()[":config"], "web-1"), "sleep 1000");
  await again(rig, "db", 3);
  rig.tell(spawned("web-1", 3));
  await again(rig, "web-1", 4);
  await refused;
  await over(rig);
  const { why, result, problem } = rig.service.reloads.lastReload ?? {};
  assert.deepEqual([why, result], ["test", "rolled-back"]);
  assert.match(problem ?? "", /^Cannot reload: "web-1" did not come up/);
  assert.ok(!rig.requests().some((each) => /signal web-[23]/.test(each)), "the others were not touched");
  assert.equal(rig.service.reloads.plan().processes.filter(({ action }) => action === "restart").length, 4);
});

test("the last reload is known, with who asked for it and what has become of it, also to the next service", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [sleeper("db")]);
  assert.deepEqual([rig.service.reloads.lastReload], [undefined]);
  rig.write(sleeper("db", { cmd: "sleep 2000" }));
  const before = Date.now();
  void rig.service.reloads.reload("asked by cli");
  await until(() => rig.service.reloads.lastReload?.result === "done", "the end of the reload");
  const last = rig.service.reloads.lastReload;
  assert.equal(last?.why, "asked by cli");
  assert.ok(Date.parse(last.time) >= before - 1_000);
  await again(rig, "db");
  const snapshot = await rig.killed(["db", 2]);
  const next = await serving(context, stateDir, [sleeper("db", { cmd: "sleep 2000" })], snapshot);
  assert.deepEqual(next.service.reloads.lastReload, last);
});

test("a service that is killed during a rollout: the next one resumes it, whatever the file says by then", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web()]);
  rig.write(web("sleep 2000"));
  void rig.service.reloads.reload("test");
  await again(rig, "web-1");
  const snapshot = await rig.killed(["web-1", 2], ["web-2", 1], ["web-3", 1]);
  assert.deepEqual(
    INSTANCES.map((id) => commandOf(snapshot.notes?.[":config"], id)),
    ["sleep 2000", "sleep 1000", "sleep 1000"],
    "what is noted is true of each of them",
  );
  const next = await serving(context, stateDir, [web("sleep 3000")], snapshot);
  await waitForLine(next, /^resuming the reload at "web-1"$/);
  for (const id of ["web-2", "web-3"]) await again(next, id);
  await waitForLine(next, /^the reload is done$/);
  assert.deepEqual([next.service.reloads.lastReload?.why, next.service.reloads.lastReload?.result], ["test", "done"]);
  assert.deepEqual(
    next.requests().filter((request) => request.includes("web-1")),
    [],
    "nothing is done twice",
  );
  assert.deepEqual(
    INSTANCES.map((id) => commandOf(next.notes()[":config"], id)),
    ["sleep 2000", "sleep 2000", "sleep 2000"],
  );
  await over(next);
});

test("a service that is killed during a rollback: the next one resumes the rollback", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web()]);
  rig.write(web("exit 3"));
  void rig.service.reloads.reload("test");
  await again(rig, "web-1");
  await requested(rig, "signal web-2 1");
  await again(rig, "web-2");
  rig.tell(exited("web-2", 2, 3));
  await until(() => commandOf(rig.notes()[":config"], "web-2") === "sleep 1000", "web-2's former command in the note");
  await requested(rig, "spawn web-2 3");
  rig.tell(spawned("web-2", 3));
  await again(rig, "web-2", 4);
  const snapshot = await rig.killed(["web-1", 2], ["web-2", 4], ["web-3", 1]);
  const next = await serving(context, stateDir, [web("exit 3")], snapshot);
  await waitForLine(next, /^resuming the rollback at "web-2"$/);
  await again(next, "web-1", 3);
  await waitForLine(next, /^rolled back to the previous configuration$/);
  await over(next);
  assert.deepEqual(
    INSTANCES.map((id) => commandOf(next.notes()[":config"], id)),
    ["sleep 1000", "sleep 1000", "sleep 1000"],
  );
});

test("a new `procman run` after that uses the present file", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web()]);
  rig.write(web("sleep 2000"));
  void rig.service.reloads.reload("test");
  await again(rig, "web-1");
  const snapshot = await rig.killed(["web-1", 2], ["web-2", 1], ["web-3", 1]);
  const next = await serving(context, stateDir, [web("sleep 3000")], { ...snapshot, lineage: "another" });
  assert.deepEqual(next.requests(), ["signal web-1 2"]);
  await again(next, "web-1", 3);
  await again(next, "web-2");
  await again(next, "web-3");
  await over(next);
  assert.equal(commandOf(next.notes()[":config"], "web-3"), "sleep 3000");
});

test("a file that was edited while the service was away is applied as by a reload: a cluster one after another, with rollback", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web(), sleeper("db")]);
  const snapshot = await rig.killed(...INSTANCES.map((id) => [id, 1] as const), ["db", 1]);
  const next = await serving(context, stateDir, [web("sleep 2000"), sleeper("db", { cmd: "sleep 2000" })], snapshot);
  assert.deepEqual(next.requests().toSorted(), ["signal db 1", "signal web-1 1"]);
  await waitForLine(next, /has changed meanwhile: web-1 restarts, web-2 restarts, web-3 restarts, db restarts$/);
  await again(next, "db");
  await again(next, "web-1");
  await requested(next, "signal web-2 1");
  next.tell(exited("web-2", 1));
  await requested(next, "spawn web-2 2");
  next.tell(spawned("web-2", 2), exited("web-2", 2, 3));
  await waitForLine(next, /^Cannot reload: "web-2" did not come up/);
  await until(() => commandOf(next.notes()[":config"], "db") === "sleep 1000", "db's former command in the note");
  assert.ok(!next.channel.requests("signal").includes("signal web-3 1"), "it was not reached");
});

test("a reload with a wait ends when what it removes has ended: processes, and instances of a cluster", async (context) => {
  const rig = await serving(context, folder(), [web(), sleeper("old"), sleeper("idle", { autostart: false })]);
  rig.write(sleeper("web", { cluster: { instances: 1 } }));
  const answer = rig.reload({ waitSeconds: 20 });
  rig.tellSynced();
  let isOver = false;
  void answer.then(() => {
    isOver = true;
  });
  for (const id of ["old", "web-3", "web-2"]) {
    await requested(rig, `signal ${id} 1`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(isOver, false, `${id} has not ended`);
    rig.tell(exited(id));
  }
  await answer;
  await until(
    () => rig.service.supervisor.processes.filter(({ id }) => id !== "idle").length === 1,
    "the end of what was removed",
  );
  rig.write();
  const short = rig.reload({ waitSeconds: 0.1 });
  rig.tellSynced();
  await assert.rejects(short, { code: "wait-timeout" });
});
