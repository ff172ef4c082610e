/** Scaling at run time; the service may be killed at any step. */
import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../../test/support/procman-process.ts";
import { exited, folder, run, type Snapshot, spawned, startService } from "../../../../test/support/service-rig.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import type { Scale } from "../../config/instance-overrides.ts";
import type { Config } from "../../config/spec.ts";
import { resolveConfiguration } from "../../config/validate.ts";
import type { Action } from "../../contract/control.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ConfigSource } from "../config/config-source.ts";

const CALLER = { consumer: "test" };

function web(instances: number | "max" = 2, more: Partial<RawProcess> = {}): RawProcess {
  return { id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances }, ...more };
}

const other = (id: string, more: Partial<RawProcess> = {}): RawProcess => ({
  id,
  cmd: "sleep 1000",
  autostart: true,
  ...more,
});

/** A service with these processes running, and a file that can be changed. */
async function serving(context: TestContext, stateDir: string, processes: readonly RawProcess[], snapshot?: Snapshot) {
  const file = { now: processes };
  const source: ConfigSource = (scale?: Scale): Config => {
    const text = JSON.stringify({ processes: file.now });
    const config = resolveConfiguration(text, {
      file: join(stateDir, "procman.json"),
      parallelism: 2,
      ...(scale && { scale }),
    });
    return { ...config, stateDir };
  };
  const first = source();
  const rig = startService(context, first, snapshot, { source, steadyMs: 50 });
  if (snapshot === undefined) rig.tell(...first.processes.map(({ id }) => spawned(id)));
  await new Promise((resolve) => setImmediate(resolve));
  const before = { ...snapshot?.notes, ...rig.channel.notes };
  if (snapshot === undefined) rig.channel.batches.length = 0;
  const notes = (): Record<string, string> => ({ ...before, ...rig.channel.notes });
  const killed = async (...slots: readonly string[]): Promise<Snapshot> => {
    await rig.service.retire();
    const kept = Object.entries(notes()).filter(([, note]) => note !== "");
    return { running: slots.map((slot) => run(slot)), notes: Object.fromEntries(kept) };
  };
  const write = (...next: readonly RawProcess[]): void => {
    file.now = next;
  };
  const requests = (): readonly string[] => rig.channel.requests("spawn", "signal");
  const scale = (to: number, id = "web") => rig.service.scaler.scale(id, { instances: to }, CALLER);
  const ids = (): readonly string[] => rig.service.config.processes.map(({ id }) => id);
  return { ...rig, write, notes, killed, requests, scale, ids };
}

test("only added and removed instances are touched; the count is noted in the same array as the commands", async (context) => {
  const rig = await serving(context, folder(), [other("first"), web(), other("last")]);
  const { added, removed } = rig.scale(4);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([added.map(({ id }) => id), removed], [["web-3", "web-4"], []]);
  assert.deepEqual(rig.requests(), ["spawn web-3 1", "spawn web-4 1"]);
  assert.equal(rig.batchOf(":scale"), rig.batchOf(":config"));
  assert.equal(rig.batchOf(":scale").filter(({ t }) => t === "spawn").length, 2);
  assert.deepEqual(rig.ids(), ["first", "web-1", "web-2", "web-3", "web-4", "last"]);
  rig.tell(spawned("web-3"), spawned("web-4"));
  assert.deepEqual(
    rig.service.scaler.scale("web", { by: -3 }, CALLER).removed.map(({ id }) => id),
    ["web-2", "web-3", "web-4"],
  );
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.requests().slice(2), ["signal web-4 1", "signal web-3 1", "signal web-2 1"]);
  rig.tell(exited("web-4"));
  rig.scale(2);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(rig.notes()[":scale"], "", "the file says the same");
});

test('"max" is one instance for each processor', async (context) => {
  const rig = await serving(context, folder(), [web(availableParallelism() + 1)]);
  const { added, removed } = rig.service.scaler.scale("web", { instances: "max" }, CALLER);
  assert.deepEqual([added, removed.map(({ id }) => id)], [[], [`web-${availableParallelism() + 1}`]]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(rig.notes()[":scale"] ?? "", new RegExp(`"to":${availableParallelism()}\\b`));
});

test("a service that is killed: the next one keeps the count, and nothing is done twice", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web(2)]);
  rig.scale(3);
  rig.tell(spawned("web-3"));
  const next = await serving(context, stateDir, [web(2)], await rig.killed("web-1", "web-2", "web-3"));
  assert.deepEqual([next.ids(), next.requests()], [["web-1", "web-2", "web-3"], []]);
  next.scale(1);
  const last = await serving(context, stateDir, [web(2)], await next.killed("web-1", "web-2", "web-3"));
  assert.deepEqual(last.ids(), ["web-1"]);
  last.tell(exited("web-2"), exited("web-3"));
  await eventually(() => (last.service.supervisor.processes.length === 1 ? true : undefined));
});

test("the count survives kills and upgrades of the service, also with a changed file or during a rolling restart", async (context) => {
  const stateDir = folder();
  const instances = ["web-1", "web-2", "web-3"];
  const first = await serving(context, stateDir, [web(2), other("db")]);
  first.scale(3);
  first.tell(spawned("web-3"));
  let rig = first;
  for (const cmd of ["sleep 1000", "sleep 1000", "sleep 2000", "sleep 2000", "sleep 2000"]) {
    rig = await serving(
      context,
      stateDir,
      [web(2, { cmd }), other("db", { cmd })],
      await rig.killed(...instances, "db"),
    );
    assert.deepEqual(rig.ids(), [...instances, "db"]);
    assert.notEqual(rig.notes()[":scale"], "");
  }
  // The first instance was told to end before the service was killed for the last time.
  for (const [index, slot] of instances.entries()) {
    rig.tell(exited(slot));
    await eventually(() => rig.requests().includes(`spawn ${slot} 2`) || undefined);
    rig.tell(spawned(slot, 2));
    if (index < 2) await eventually(() => rig.requests().includes(`signal ${instances[index + 1]} 1`) || undefined);
  }
  await eventually(() => rig.notes()[":reload"] === "" || undefined);
  const snapshot = await rig.killed("db");
  const last = await serving(context, stateDir, [web(2, { cmd: "sleep 2000" }), other("db", { cmd: "sleep 2000" })], {
    ...snapshot,
    running: [...(snapshot.running ?? []), ...instances.map((slot) => run(slot, 2))],
  });
  assert.deepEqual([last.ids(), last.requests()], [[...instances, "db"], []]);
});

test("the file's own count is valid again when it changes, but not because a killed procman is started again", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [web("max")]);
  rig.scale(3);
  rig.tell(spawned("web-3"));
  const snapshot = await rig.killed("web-1", "web-2", "web-3");
  const changed = await serving(context, stateDir, [web(1)], snapshot);
  assert.deepEqual([changed.ids(), changed.notes()[":scale"]], [["web-1"], ""]);
  assert.ok(changed.channel.printed.some((line) => /"web" is back to the number of instances in the file/.test(line)));
  const anew = await serving(context, stateDir, [web("max")], { ...snapshot, lineage: "another" });
  assert.deepEqual(anew.ids(), ["web-1", "web-2", "web-3"]);
  assert.notEqual(anew.notes()[":scale"] ?? snapshot.notes?.[":scale"] ?? "", "");
});

test("a count that the file allows no longer is dropped by a later service, which says so", async (context) => {
  const stateDir = folder();
  const ports = web(2, { cluster: { instances: 2, startPort: 3_001 } });
  const rig = await serving(context, stateDir, [ports]);
  rig.scale(3);
  rig.tell(spawned("web-3"));
  const late = other("late", { cluster: { instances: 1, startPort: 3_003 } });
  const next = await serving(context, stateDir, [ports, late], await rig.killed("web-1", "web-2", "web-3"));
  assert.deepEqual(next.ids(), ["web-1", "web-2", "late-1"]);
  assert.ok(
    next.channel.printed.some((line) =>
      /clusters are back to the number of instances in the file.*port 3003 belongs to/.test(line),
    ),
  );
});

test("a reload applies the file's counts again, and plan shows that", async (context) => {
  const rig = await serving(context, folder(), [web()]);
  rig.scale(3);
  rig.tell(spawned("web-3"));
  const [, , third] = rig.service.reloads.plan().processes;
  assert.deepEqual([third?.process, third?.action], ["web-3", "stop"]);
  assert.notEqual(rig.notes()[":scale"], undefined);
  void rig.service.reloads.reload("test");
  assert.deepEqual([rig.ids(), rig.notes()[":scale"]], [["web-1", "web-2"], ""]);
});

for (const session of ["the same procman", "a procman that is started again after a kill of all its parts"] as const)
  test(`a reload that was cut off applies the file's counts again, in ${session}`, async (context) => {
    const stateDir = folder();
    const rig = await serving(context, stateDir, [web()]);
    rig.scale(3);
    rig.tell(spawned("web-3"));
    rig.write(web(2, { cmd: "sleep 2000" }));
    void rig.service.reloads.reload("test");
    await eventually(() => rig.requests().includes("signal web-1 1") || undefined);
    const snapshot = await rig.killed("web-1", "web-2");
    assert.notEqual(snapshot.notes?.[":scale"] ?? "", "", "it is needed for the way back");
    const next = await serving(context, stateDir, [web(2, { cmd: "sleep 2000" })], {
      ...snapshot,
      ...(session === "the same procman" ? {} : { lineage: "another" }),
    });
    for (const slot of ["web-1", "web-2"]) {
      // The service before has told web-1 to stop.
      if (slot === "web-2") await eventually(() => next.requests().includes(`signal ${slot} 1`) || undefined);
      next.tell(exited(slot));
      await eventually(() => next.requests().includes(`spawn ${slot} 2`) || undefined);
      next.tell(spawned(slot, 2));
    }
    await eventually(() => next.notes()[":reload"] === "" || undefined);
    assert.deepEqual([next.ids(), next.notes()[":scale"]], [["web-1", "web-2"], ""]);
    assert.ok(!next.requests().some((request) => request.startsWith("spawn web-3")), next.requests().join());
  });

test("a reload that fails returns to the requested count", async (context) => {
  const rig = await serving(context, folder(), [web()]);
  rig.scale(3);
  rig.tell(spawned("web-3"));
  rig.write(web(3, { cmd: "exit 3" }));
  void rig.service.reloads.reload("test");
  await eventually(() => rig.requests().includes("signal web-1 1") || undefined);
  assert.throws(() => rig.scale(2), { code: "reload-running", message: /a reload is under way; wait for its end/ });
  rig.tell(exited("web-1"));
  await eventually(() => rig.requests().includes("spawn web-1 2") || undefined);
  rig.tell(spawned("web-1", 2), exited("web-1", 2, 3));
  await eventually(() => rig.requests().includes("spawn web-1 3") || undefined);
  rig.tell(spawned("web-1", 3));
  await eventually(() => rig.requests().includes("signal web-1 3") || undefined);
  rig.tell(exited("web-1", 3));
  await eventually(() => rig.requests().includes("spawn web-1 4") || undefined);
  rig.tell(spawned("web-1", 4));
  await eventually(() => rig.channel.printed.includes("rolled back to the previous configuration") || undefined);
  assert.deepEqual(rig.ids(), ["web-1", "web-2", "web-3"]);
  assert.match(rig.notes()[":scale"] ?? "", /"to":3,"of":2/);
});

test("changes of the cluster in the file must be reloaded first; other changes wait for their reload", async (context) => {
  const rig = await serving(context, folder(), [web(), other("db")]);
  rig.write(web(2, { cmd: "sleep 2000" }), other("db"));
  assert.throws(() => rig.scale(3), {
    code: "scale-refused",
    message: /its cmd in procman\.json has changed; reload that first/,
  });
  rig.write(other("db"));
  assert.throws(() => rig.scale(3), {
    code: "scale-refused",
    message: /it is no longer a cluster in procman\.json; reload that first/,
  });
  rig.write(web(), other("db", { cmd: "sleep 2000" }), other("new"));
  rig.scale(3);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.requests(), ["spawn web-3 1"]);
});

test("a port, an id or a pid file that another process has is refused, by the file and by the active configuration", async (context) => {
  const ported = web(2, { cluster: { instances: 2, startPort: 3_001 } });
  const rig = await serving(context, folder(), [
    ported,
    other("db", { cluster: { instances: 1, startPort: 3_004 } }),
    other("web-6"),
  ]);
  assert.throws(() => rig.scale(4), {
    code: "scale-refused",
    message:
      /\(.*procman\.json:1:\d+ processes\[1\]\.cluster\.startPort\).*port 3004 belongs to .*Ask for fewer, or change the file/,
  });
  rig.write(ported, other("web-6"));
  assert.throws(() => rig.scale(6), {
    code: "scale-refused",
    message: /processes\[1\]\.id\).*instance 6 of the cluster "web"/,
  });
  assert.throws(() => rig.scale(4), {
    code: "scale-refused",
    message: /"web-4" would have the port 3004 of "db-1", which the file has changed since; reload that first/,
  });
  assert.deepEqual(rig.requests(), []);
});

test("dependents of the cluster depend on its present instances", async (context) => {
  const rig = await serving(context, folder(), [web(), other("db", { dependsOn: ["web"] })]);
  rig.scale(3);
  const members = (): unknown =>
    rig.service.config.processes.find(({ id }) => id === "db")?.dependsOn?.map((dependency) => dependency.members);
  assert.deepEqual(members(), [["web-1", "web-2", "web-3"]]);
  rig.scale(1);
  assert.deepEqual(members(), [["web-1"]]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(!rig.requests().some((each) => each.includes(" db ")), "it runs on");
});

test("with `restart: true` a dependent is restarted when all present instances have been started since, not when some are added or removed", async (context) => {
  const rig = await serving(context, folder(), [web(), other("db", { dependsOn: [{ id: "web", restart: true }] })]);
  const ofDb = (): readonly string[] => rig.requests().filter((each) => each.includes(" db "));
  const late = (slot: string, number: number, since: number) =>
    ({ ...spawned(slot, number), since }) as ReturnType<typeof spawned>;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  rig.scale(3);
  rig.tell(late("web-3", 1, 50));
  await turn();
  assert.deepEqual(ofDb(), [], "one more");
  rig.service.supervisor.find("web-1").restart();
  rig.tell(exited("web-1"));
  await eventually(() => rig.requests().includes("spawn web-1 2") || undefined);
  rig.tell(late("web-1", 2, 60));
  await turn();
  assert.deepEqual(ofDb(), [], "one anew");
  rig.scale(2);
  await turn();
  assert.deepEqual(ofDb(), [], "web-2 is as old as it");
  rig.scale(1);
  await turn();
  assert.deepEqual(ofDb(), ["signal db 1"], "what is left was started after it");
});

test("the count of a profile is the file's own one", async (_context) => {
  const text = JSON.stringify({
    processes: [web(2)],
    profiles: { big: { processes: [{ id: "web", cluster: { instances: 4 } }] } },
  });
  const seen: unknown[] = [];
  const scale: Scale = (cluster, own) => {
    seen.push([cluster, own]);
    return 3;
  };
  const { processes } = resolveConfiguration(text, {
    file: join(folder(), "procman.json"),
    profile: "big",
    scale,
  });
  assert.deepEqual([processes.length, seen], [3, [["web", 4]]]);
});

test("bad counts, and ids that are not clusters, are refused", async (context) => {
  const rig = await serving(context, folder(), [web(), other("db")]);
  for (const to of [0, -1, 1.5, 1_025, 100_000, Number.NaN])
    assert.throws(() => rig.scale(to), { code: "scale-refused", message: /use 1 to 1024; it has 2/ });
  assert.throws(() => rig.scale(0), { message: /"procman stop web" stops all of them/ });
  assert.throws(() => rig.service.scaler.scale("web", {}, CALLER), { code: "input-invalid" });
  assert.throws(() => rig.scale(2, "db"), {
    code: "scale-refused",
    message: /it is not a cluster; give it a "cluster" in the file/,
  });
  assert.throws(() => rig.scale(2, "web-1"), { message: /it is one instance of the cluster "web"; scale that/ });
  for (const id of ["all", "group:backend"])
    assert.throws(() => rig.scale(2, id), { message: /it is not one process; name a cluster$/ });
  const { added, removed } = rig.scale(2);
  assert.deepEqual([added, removed], [[], []]);
  for (const process of rig.service.supervisor.processes) process.block();
  assert.throws(() => rig.scale(3), { code: "process-blocked" });
  rig.write(web(), { id: "db" } as RawProcess);
  assert.throws(() => rig.scale(1), { code: "configuration-invalid", message: /Missing key "cmd"/ });
});

test("new instances of a cluster that was started by hand start when others run, and not otherwise", async (context) => {
  const rig = await serving(context, folder(), [web(2, { autostart: false })]);
  assert.deepEqual(rig.scale(3).added, []);
  rig.service.supervisor.find("web-1").start();
  assert.deepEqual(
    rig.scale(4).added.map(({ id }) => id),
    ["web-4"],
  );
});

test("a rolling restart and a reload of the same cluster refuse each other, and scaling; a reload by SIGHUP waits", async (context) => {
  const rig = await serving(context, folder(), [web(), other("db")]);
  const { actions, reloads, supervisor, operations } = rig.service;
  const instances = supervisor.processes.slice(0, 2);
  const restart = () => actions.act(instances, { id: "web", action: "restart", caller: CALLER });
  restart();
  assert.throws(() => rig.scale(3), { code: "roll-running" });
  rig.write(web(2, { cmd: "sleep 2000" }), other("db"));
  await assert.rejects(reloads.reload("test"), {
    code: "roll-running",
    message: /rolling restart of "web" is under way; wait for its end/,
  });
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  await eventually(
    () => rig.channel.printed.includes("reload (SIGHUP): waits for the end of a rolling restart") || undefined,
  );
  operations.cancel({ kind: "stop", targets: ["web"] }, "test");
  await eventually(
    () => rig.channel.printed.some((line) => /^reload \(SIGHUP\): .*web-2 restarts/.test(line)) || undefined,
  );
  assert.throws(restart, { code: "roll-running", message: /a reload of it is under way/ });
  actions.act(supervisor.processes.slice(2), { id: "all", action: "restart", caller: CALLER });
});

/** What was asked of the whole cluster; what a later instance must be, and what ends that. */
const ASKED = {
  block: { undo: "unblock", isSo: (process: Process) => process.isBlocked },
  stop: { undo: "start", isSo: () => true },
  disable: { undo: "enable", isSo: (process: Process) => process.isDisabled },
} as const;

for (const asked of ["block", "stop", "disable"] as const)
  for (const adds of ["reload", "scale"] as const)
    for (const isKilled of [false, true])
      test(`${asked} of a cluster holds for an instance that a ${adds} adds${isKilled ? ", also after a kill of the service" : ""}, until ${ASKED[asked].undo}`, async (context) => {
        const { undo, isSo } = ASKED[asked];
        const stateDir = folder();
        const first = await serving(context, stateDir, [web(3)]);
        const act = (rig: typeof first, action: Action): void => {
          const found = rig.service.supervisor.processes;
          rig.service.actions.act(found, { id: "web", action, caller: CALLER as never });
        };
        act(first, asked);
        // Disabled instances go on, and a scaling starts others beside running ones: so they are stopped here, too.
        if (asked === "disable") act(first, "stop");
        const running = asked === "block" ? ["web-1", "web-2", "web-3"] : [];
        if (asked !== "block") for (const id of ["web-1", "web-2", "web-3"]) first.tell(exited(id));
        await eventually(
          () => first.service.supervisor.processes.every(({ isIdle }) => isIdle === (asked !== "block")) || undefined,
        );
        if (asked === "block" && adds === "scale") {
          assert.throws(() => first.scale(4), { code: "process-blocked" });
          return;
        }
        const rig = isKilled ? await serving(context, stateDir, [web(3)], await first.killed(...running)) : first;
        if (adds === "scale") rig.scale(4);
        else {
          rig.write(web(4));
          assert.equal(rig.service.reloads.plan().processes.find(({ process }) => process === "web-4")?.action, "none");
          void rig.service.reloads.reload("test");
        }
        await new Promise((resolve) => setImmediate(resolve));
        const added = rig.service.supervisor.find("web-4");
        assert.deepEqual([added.isIdle, isSo(added)], [true, true]);
        if (asked !== "block") {
          // What holds for the fourth holds for the fifth.
          rig.write(web(5));
          void rig.service.reloads.reload("test");
          assert.ok(rig.service.supervisor.find("web-5").states.every(({ status }) => status === "idle"));
        }
        assert.ok(!rig.requests().some((each) => each.startsWith("spawn")), rig.requests().join());
        act(rig, undo);
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal(asked === "stop" || isSo(added), asked === "stop");
        // `enable` starts nothing by itself.
        assert.equal(rig.requests().includes("spawn web-4 1"), asked !== "disable");
      });

test("a new instance of a cluster of which a part was blocked or stopped starts", async (context) => {
  const rig = await serving(context, folder(), [web(2)]);
  rig.service.supervisor.find("web-1").block();
  rig.service.supervisor.find("web-2").stop();
  rig.tell(exited("web-2"));
  rig.write(web(3));
  void rig.service.reloads.reload("test");
  await eventually(() => rig.requests().includes("spawn web-3 1") || undefined);
});

for (const asked of ["block", "stop"] as const)
  for (const [what, from, to] of [
    ["a process becomes a cluster", [other("web")], [web(2)]],
    ["a cluster becomes a process", [web(2)], [other("web")]],
  ] as const)
    test(`a ${asked} holds when ${what}`, async (context) => {
      const rig = await serving(context, folder(), from);
      const { supervisor, reloads, actions } = rig.service;
      const ids = supervisor.processes.map(({ id }) => id);
      for (const action of [asked, "stop"] as const)
        actions.act(supervisor.processes, { id: "web", action, caller: CALLER as never });
      for (const id of ids) rig.tell(exited(id));
      await eventually(() => supervisor.processes.every(({ isIdle }) => isIdle) || undefined);
      rig.write(...to);
      assert.ok(reloads.plan().processes.every(({ action }) => action === "none"));
      void reloads.reload("test");
      await eventually(() => supervisor.processes.every(({ id }) => !ids.includes(id)) || undefined);
      assert.ok(supervisor.processes.every(({ isIdle, isBlocked }) => isIdle && isBlocked === (asked === "block")));
    });

const scaled = (instances: number, more: Partial<RawProcess> = {}): RawProcess =>
  web(instances, { scale: { min: 1, max: 8, targets: { cpu: 70 } }, ...more });
const DECISION = { time: "2026-11-27T14:03:10.000Z", from: 2, to: 4, reason: "its minimum is 4" };

test("a decision about the load is noted with its reason, and the next service knows it", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [scaled(2)]);
  rig.service.scaler.scale("web", { instances: 4 }, CALLER, DECISION);
  rig.tell(spawned("web-3"), spawned("web-4"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(rig.batchOf(":scale").filter(({ t }) => t === "spawn").length, 2, "in the same array as the commands");
  const slots = ["web-1", "web-2", "web-3", "web-4"];
  const next = await serving(context, stateDir, [scaled(2)], await rig.killed(...slots));
  assert.deepEqual([next.ids(), next.requests()], [slots, []]);
  assert.deepEqual(next.service.scaler.lastDecision("web"), DECISION);
  assert.equal(next.service.scaler.isPinned("web"), false);
});

test("instances that are removed are told who asked for fewer: a caller, or the load", async (context) => {
  const rig = await serving(context, folder(), [scaled(4)]);
  rig.scale(3);
  const reason = "5 connections an instance: 2 instances were enough for 300 s";
  rig.service.scaler.scale("web", { instances: 2 }, CALLER, { ...DECISION, from: 3, to: 2, reason });
  rig.write(scaled(1));
  assert.equal(rig.service.reloads.plan().processes.at(-1)?.reason, "its cluster has 1 instance in the file");
  void rig.service.reloads.reload("test");
  await new Promise((resolve) => setImmediate(resolve));
  const told = await eventually(() => {
    const lines = rig.channel.printed.filter((text) => text.startsWith("being removed: "));
    return lines.length === 3 ? lines : undefined;
  });
  assert.deepEqual(told, [
    `being removed: its cluster was scaled from 4 to 3 by ${CALLER.consumer}`,
    `being removed: its cluster was scaled from 3 to 2: ${reason}`,
    "being removed: its cluster has 1 instance in the file",
  ]);
});

test("a number by hand pins a cluster with scale, also the number that it has, also after a kill, until auto", async (context) => {
  const stateDir = folder();
  const rig = await serving(context, stateDir, [scaled(2), other("db")]);
  const { scaler } = rig.service;
  assert.equal(scaler.isPinned("web"), false);
  rig.scale(2);
  assert.equal(scaler.isPinned("web"), true);
  const next = await serving(context, stateDir, [scaled(2), other("db")], await rig.killed("web-1", "web-2", "db"));
  assert.equal(next.service.scaler.isPinned("web"), true);
  next.scale(3);
  const unpin = (id: string) => next.service.scaler.scale(id, { instances: "auto" }, CALLER);
  assert.deepEqual([unpin("web").added, unpin("web").removed], [[], []]);
  assert.equal(next.service.scaler.isPinned("web"), false);
  assert.deepEqual(next.ids(), ["web-1", "web-2", "web-3", "db"], "the number stays until its load decides");
  assert.throws(() => unpin("db"), { code: "scale-refused", message: /it is not a cluster/ });
  assert.throws(() => next.service.scaler.scale("web", { instances: "auto", by: 1 }, CALLER), {
    code: "input-invalid",
  });
});

test("a cluster without scale has nothing to be pinned against", async (context) => {
  const rig = await serving(context, folder(), [web()]);
  rig.scale(3);
  assert.equal(rig.service.scaler.isPinned("web"), false);
  assert.throws(() => rig.service.scaler.scale("web", { instances: "auto" }, CALLER), {
    code: "scale-refused",
    message: 'Cannot scale "web" by its load: it has no "scale" in the file',
  });
});

test("a reload keeps the number that the load has asked for, but neither a pinned one nor that of a file that has another", async (context) => {
  const rig = await serving(context, folder(), [scaled(2)]);
  const { scaler, reloads } = rig.service;
  scaler.scale("web", { instances: 4 }, CALLER, DECISION);
  rig.tell(spawned("web-3"), spawned("web-4"));
  rig.write(scaled(2, { restartLimit: 3 }));
  assert.ok(reloads.plan().processes.every(({ action }) => action !== "stop"));
  void reloads.reload("test");
  assert.deepEqual(rig.ids(), ["web-1", "web-2", "web-3", "web-4"]);
  assert.deepEqual(scaler.lastDecision("web"), DECISION);
  rig.scale(3);
  rig.tell(exited("web-4"));
  void reloads.reload("test");
  assert.deepEqual(rig.ids(), ["web-1", "web-2"]);
  assert.equal(scaler.isPinned("web"), false);
  scaler.scale("web", { instances: 4 }, CALLER, DECISION);
  rig.write(scaled(1, { restartLimit: 3 }));
  void reloads.reload("test");
  assert.deepEqual([rig.ids(), scaler.lastDecision("web")], [["web-1"], undefined]);
  scaler.scale("web", { instances: 4 }, CALLER, DECISION);
  rig.write(web(1, { restartLimit: 3 }));
  void reloads.reload("test");
  assert.deepEqual(rig.ids(), ["web-1"], "without scale the file counts");
});

test("the number of a deployment: a pin stays, and what is removed needs no valid file", async (context) => {
  const scaled = web(2, {
    cluster: { instances: 2, startPort: 5_001, commonPort: 5_000 },
    scale: { min: 1, max: 3, targets: { connections: 40 } },
  });
  const rig = await serving(context, folder(), [scaled]);
  rig.scale(3);
  const { added } = rig.service.scaler.resize("web", 6, CALLER);
  assert.deepEqual(
    added.map(({ id }) => id),
    ["web-4", "web-5", "web-6"],
  );
  assert.ok(rig.service.scaler.isPinned("web"));
  rig.write(other("web"));
  assert.throws(() => rig.service.scaler.resize("web", 7, CALLER), { code: "scale-refused" });
  rig.service.scaler.resize("web", 3, CALLER);
  assert.deepEqual(rig.ids(), ["web-1", "web-2", "web-3"]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.match(rig.notes()[":scale"] ?? "", /"to":3,"of":2,"pinned":true/);
});
