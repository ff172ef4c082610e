/** When a wait ends, and its limits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { controlRig } from "../../../../test/support/control-rig.ts";
import { FakeClock, FakeSpawner } from "../../../../test/support/fakes.ts";
import { EVEN, servingContext } from "../../../../test/support/service-fakes.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessDefinition } from "../../supervisor/definition.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import { settle } from "./settle.ts";
import { AwaitedStart, settleRestart } from "./start-verdict.ts";

const policy = {
  restart: "never",
  restartLimit: 0,
  restartResetMs: 60_000,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 0,
} as const;
const db: ProcessDefinition = { id: "db", autostart: true, overrun: false, policy: { ...policy, waits: false } };
const dependsOn = [{ id: "db", condition: "ready", restart: false, members: ["db"] }] as const;
const web: ProcessDefinition = {
  id: "web",
  autostart: true,
  overrun: false,
  dependsOn,
  policy: { ...policy, waits: true },
};

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
  const untilUp = async (): Promise<boolean> => {
    const start = new AwaitedStart(supervisor.find("web"), servingContext(supervisor, [{ id: "web" }]), {
      minUptimeMs: 0,
      limitMs: 20,
    });
    const [verdict] = await settle([start], {});
    return verdict === "up";
  };
  const up = untilUp();
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
  assert.equal(await untilUp(), false, "db is not started");
});

test("the wait for an instance behind the load balancer ends when the balancer reports that it sends connections", async () => {
  const { supervisor, spawner } = controlRig();
  const watchers = new Set<() => void>();
  const accepting = new Set<string>();
  const balancing = {
    ...EVEN,
    accepts: (id: string) => accepting.has(id),
    watch: (call: () => void) => {
      watchers.add(call);
      return () => watchers.delete(call);
    },
  };
  const spec = { id: "web", policy, cluster: {}, front: { id: "web" } } as unknown as ProcessSpec;
  const { signal } = new AbortController();
  const context = { ...servingContext(supervisor, [spec]), balancing };
  const served = settleRestart(context, "web", { steadyMs: 0, signal });
  assert.equal(await Promise.race([served, sleep(50, "pending")]), "pending");
  accepting.add("web");
  for (const call of watchers) call();
  assert.deepEqual([await served, watchers.size], [true, 0], "no watcher is left");
  accepting.clear();
  const failing = settleRestart(context, "web", { steadyMs: 0, signal });
  await new Promise((resolve) => setImmediate(resolve));
  spawner.exit("web", 3);
  spawner.swept("web");
  assert.equal(await failing, false, "it ended before the balancer had sent it any");
});
