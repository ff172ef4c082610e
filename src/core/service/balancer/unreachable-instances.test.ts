/** Instances that run but don't listen are logged once, after a while. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { UNREACHABLE_AFTER_MS, type UnreachableInstance, UnreachableInstances } from "./unreachable-instances.ts";

function rig(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const unreachable = new Map<string, UnreachableInstance>();
  const logged: string[] = [];
  const accepted: true[] = [];
  const instances = new UnreachableInstances(
    () => [...unreachable.values()],
    (id, { severity, text }) => logged.push(`${id} ${severity}: ${text}`),
    () => accepted.push(true),
  );
  const pass = (ms: number): void => {
    now += ms;
    context.mock.timers.tick(ms);
  };
  return { instances, unreachable, logged, accepted, pass };
}

/** A pid that no machine has. */
const PID = 5_000_000;

test("an instance that is unreachable for five seconds is logged once per run; one that accepts meanwhile is not", (context) => {
  const { instances, unreachable, logged, pass } = rig(context);
  unreachable.set("web-1", { id: "web-1", pid: PID, port: 3_001 });
  unreachable.set("web-2", { id: "web-2", pid: PID + 1, port: 3_002 });
  instances.check();
  pass(UNREACHABLE_AFTER_MS - 1);
  assert.deepEqual([logged, instances.of("web-1")], [[], undefined]);
  unreachable.delete("web-2");
  instances.check();
  pass(1);
  const text = "accepts no connections on its port 127.0.0.1:3001 (PROCMAN_CLUSTER_PORT)";
  assert.deepEqual([logged, instances.of("web-1")], [[`web-1 warn: runs, but ${text}`], text]);
  pass(UNREACHABLE_AFTER_MS * 3);
  instances.check();
  assert.equal(logged.length, 1);
  unreachable.set("web-1", { id: "web-1", pid: PID + 2, port: 3_001 });
  instances.check();
  assert.equal(instances.of("web-1"), undefined);
  pass(UNREACHABLE_AFTER_MS);
  assert.equal(logged.length, 2);
  unreachable.clear();
  instances.check();
  assert.equal(instances.of("web-1"), undefined);
  unreachable.set("web-1", { id: "web-1", pid: PID, port: 3_001 });
  instances.stop();
  instances.check();
  pass(UNREACHABLE_AFTER_MS * 2);
  assert.equal(logged.length, 2, "it logs nothing after its stop");
});

test("the port on which it listens instead is named", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  context.after(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const { instances, unreachable, logged, pass } = rig(context);
  unreachable.set("web-1", { id: "web-1", pid: process.pid, port: 3_001 });
  instances.check();
  pass(UNREACHABLE_AFTER_MS);
  assert.match(logged[0] ?? "", new RegExp(`; it listens on (?:\\d+, )*${port}(?:,|$)`));
});

test("with a shared socket an instance is looked at until it accepts, after five seconds each second; then no more", (context) => {
  const { instances, unreachable, logged, accepted, pass } = rig(context);
  let [isAccepting, asked] = [false, 0];
  const accepts = (): boolean => {
    asked += 1;
    return isAccepting;
  };
  unreachable.set("web-1", { id: "web-1", pid: PID, port: 3_000, shared: { address: "127.0.0.1:3000", accepts } });
  instances.check();
  for (let ms = 0; ms < UNREACHABLE_AFTER_MS - 200; ms += 200) pass(200);
  const inTime = asked;
  assert.ok(inTime >= 20, `${inTime}`);
  assert.deepEqual([instances.of("web-1"), instances.hasAccepted("web-1", PID)], [undefined, false]);
  pass(200);
  const text = "accepts no connections from the shared socket 127.0.0.1:3000 (descriptor 3)";
  assert.deepEqual([logged, instances.of("web-1")], [[`web-1 warn: runs, but ${text}`], text]);
  const before = asked;
  for (let ms = 0; ms < 5_000; ms += 100) pass(100);
  assert.deepEqual([asked - before, logged.length, accepted.length], [5, 1, 0]);
  isAccepting = true;
  pass(1_000);
  assert.deepEqual([instances.of("web-1"), instances.hasAccepted("web-1", PID), accepted.length], [undefined, true, 1]);
  assert.equal(instances.hasAccepted("web-1", PID + 1), false, "another run");
  const last = asked;
  pass(UNREACHABLE_AFTER_MS);
  instances.check();
  assert.equal(asked, last);
  unreachable.clear();
  instances.check();
  assert.equal(instances.hasAccepted("web-1", PID), false);
});

test("where it can't be told whether an instance accepts, it counts as accepting after five seconds", (context) => {
  const { instances, unreachable, logged, accepted, pass } = rig(context);
  const shared = { address: "127.0.0.1:3000", accepts: () => undefined };
  unreachable.set("web-1", { id: "web-1", pid: PID, port: 3_000, shared });
  instances.check();
  for (let ms = 0; ms < UNREACHABLE_AFTER_MS - 200; ms += 200) pass(200);
  assert.equal(instances.hasAccepted("web-1", PID), false);
  pass(400);
  assert.deepEqual([instances.hasAccepted("web-1", PID), logged, accepted.length], [true, [], 1]);
});
