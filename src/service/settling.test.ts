/** How long somebody is waited for who waits for others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeClock, FakeSpawner } from "../../test/fakes.ts";
import type { Plan } from "../supervisor/plan.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { isUp } from "./settling.ts";

const policy = { restart: "never", restartLimit: 0, restartResetMs: 60_000, graceMs: 0, terminateMs: 30_000, timeoutMs: 0 } as const;
const db: Plan = { id: "db", autostart: true, overrun: false, policy: { ...policy, waits: false } };
const dependsOn = [{ id: "db", condition: "ready", restart: false, members: ["db"] }] as const;
const web: Plan = { id: "web", autostart: true, overrun: false, dependsOn, policy: { ...policy, waits: true } };

test("what a process depends on takes its own time while it is on its way, and none when it is over", async () => {
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
  const patience = { steadyMs: 0, limitMs: 20, signal };
  const up = isUp(supervisor, "web", patience);
  assert.equal(await Promise.race([up, sleep(100, "open")]), "open");
  spawner.up("db");
  spawner.up("web");
  assert.equal(await up, true);
  for (const id of ["web", "db"]) {
    supervisor.find(id).stop();
    spawner.exit(id, 0);
    spawner.swept(id);
  }
  supervisor.find("web").start();
  assert.equal(await isUp(supervisor, "web", patience), false, "nobody starts db");
});
