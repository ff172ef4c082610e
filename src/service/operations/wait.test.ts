/** When a wait ends, and its limits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { controlRig } from "../../../test/support/control-rig.ts";
import { FakeClock, FakeSpawner } from "../../../test/support/fakes.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessDefinition } from "../../supervisor/definition.ts";
import type { Process } from "../../supervisor/process.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import { waitForTarget, waitInRotation, waitUntilUp, watchTarget } from "./wait.ts";

const policy = { restart: "never", restartLimit: 0, restartResetMs: 60_000, graceMs: 0, terminateMs: 30_000, timeoutMs: 0 } as const;
const db: ProcessDefinition = { id: "db", autostart: true, overrun: false, policy: { ...policy, waits: false } };
const dependsOn = [{ id: "db", condition: "ready", restart: false, members: ["db"] }] as const;
const web: ProcessDefinition = { id: "web", autostart: true, overrun: false, dependsOn, policy: { ...policy, waits: true } };

test("a dependency that is coming up extends the wait; one that is over doesn't", async () => {
  const spawner = new FakeSpawner();
  const supervisor = new Supervisor({
    clock: new FakeClock(),
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  supervisor.apply([db, web]);
  const { signal } = new AbortController();
  const timeouts = { steadyMs: 0, limitMs: 20, signal };
  const up = waitUntilUp(supervisor, "web", timeouts);
  assert.equal(await Promise.race([up, sleep(100, "open")]), "open");
  // A busy machine: the limit is over before the start is carried out.
  const spawn = spawner.spawn.bind(spawner);
  spawner.spawn = (...args) => {
    for (const until = performance.now() + 30; performance.now() < until; );
    spawn(...args);
  };
  spawner.up("db");
  spawner.up("web");
  assert.equal(await up, true);
  for (const id of ["web", "db"]) {
    supervisor.find(id).stop();
    spawner.exit(id, 0);
    spawner.swept(id);
  }
  supervisor.find("web").start();
  assert.equal(await waitUntilUp(supervisor, "web", timeouts), false, "db is not started");
});

test("a job that has finished before the first check counts as started; a failed one doesn't", async () => {
  const { supervisor, spawner } = controlRig();
  const job = supervisor.find("job");
  for (const code of [0, 3]) {
    if (job.isIdle) job.start();
    spawner.up("job");
    spawner.exit("job", code);
    spawner.swept("job");
    const target = watchTarget({ action: "restart", processes: [job], reason: () => "failed", lastEnd: () => undefined });
    const done = waitForTarget(supervisor, target, { waitSeconds: 20 });
    if (code === 0) await done;
    else await assert.rejects(done, { code: "process-failed", message: 'Cannot restart "job": it failed' });
  }
});

test("a wait for several processes names each that has failed, also when the time is over", async () => {
  const { supervisor, spawner } = controlRig();
  const processes = ["web", "job", "pair-1"].map((id) => supervisor.find(id));
  for (const process of processes) process.restart();
  for (const id of ["web", "job"]) {
    spawner.exit(id, 0);
    spawner.swept(id);
    spawner.up(id);
    spawner.exit(id, 3);
    spawner.swept(id);
  }
  const target = watchTarget({ action: "restart", processes, reason: ({ id }) => `${id} failed`, lastEnd: () => undefined });
  const done = waitForTarget(supervisor, target, { waitSeconds: 0.05 });
  const message =
    /^Cannot restart "web": it web failed\nCannot restart "job": it job failed\nCannot wait for the restart of "pair-1": timed out/;
  await assert.rejects(done, { code: "process-failed", message });
});

test("a process that a reload removes during the wait for its start is no failure, unless nothing else is waited for", async () => {
  const { supervisor, spawner } = controlRig();
  const pair = ["pair-1", "pair-2"].map((id) => supervisor.find(id));
  for (const process of pair) process.restart();
  // As in the service: the status text of a process that is gone can't be made.
  const reason = ({ id }: Pick<Process, "id">): string => supervisor.find(id).id;
  const targets = [pair, pair.slice(1)].map((processes) => watchTarget({ action: "restart", processes, reason, lastEnd: () => undefined }));
  const waits = targets.map((target) => waitForTarget(supervisor, target, { waitSeconds: 20 }));
  const failed = assert.rejects(waits[1] as Promise<void>, {
    code: "process-failed",
    message: 'Cannot restart "pair-2": it was removed from the configuration meanwhile',
  });
  supervisor.apply(supervisor.processes.map(({ definition }) => definition).filter(({ id }) => id !== "pair-2"));
  for (const { id } of pair) {
    spawner.exit(id, 0);
    spawner.swept(id);
  }
  assert.equal(supervisor.statesOf("pair-2").length, 0, "it is gone");
  spawner.up("pair-1");
  await Promise.all([waits[0], failed]);
});

test("the wait for an instance behind the load balancer ends when the balancer reports that it sends connections", async () => {
  const { supervisor, spawner } = controlRig();
  const watchers = new Set<() => void>();
  const accepting = new Set<string>();
  const balancing = {
    accepts: (id: string) => accepting.has(id),
    watch: (call: () => void) => {
      watchers.add(call);
      return () => watchers.delete(call);
    },
  };
  const spec = () => ({ policy, front: { id: "web" } }) as unknown as ProcessSpec;
  const { signal } = new AbortController();
  const served = waitInRotation({ supervisor, spec, balancing }, "web", { steadyMs: 0, signal });
  assert.equal(await Promise.race([served, sleep(50, "pending")]), "pending");
  accepting.add("web");
  for (const call of watchers) call();
  assert.deepEqual([await served, watchers.size], [true, 0], "no watcher is left");
  accepting.clear();
  const failing = waitInRotation({ supervisor, spec, balancing }, "web", { steadyMs: 0, signal });
  await new Promise((resolve) => setImmediate(resolve));
  spawner.exit("web", 3);
  spawner.swept("web");
  assert.equal(await failing, false, "it ended before the balancer had sent it any");
});
