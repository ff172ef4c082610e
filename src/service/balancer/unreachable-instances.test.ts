/** Instances that run but don't listen are logged once, after a while. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { UNREACHABLE_AFTER_MS, type UnreachableInstance, UnreachableInstances } from "./unreachable-instances.ts";

function rig(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const silent = new Map<string, UnreachableInstance>();
  const said: string[] = [];
  const silences = new UnreachableInstances(
    () => [...silent.values()],
    (id, { severity, text }) => said.push(`${id} ${severity}: ${text}`),
  );
  const pass = (ms: number): void => {
    now += ms;
    context.mock.timers.tick(ms);
  };
  return { silences, silent, said, pass };
}

/** A pid that no machine has. */
const PID = 5_000_000;

test("an instance that is unreachable for five seconds is logged once per run; one that accepts meanwhile is not", (context) => {
  const { silences, silent, said, pass } = rig(context);
  silent.set("web-1", { id: "web-1", pid: PID, port: 3_001 });
  silent.set("web-2", { id: "web-2", pid: PID + 1, port: 3_002 });
  silences.check();
  pass(UNREACHABLE_AFTER_MS - 1);
  assert.deepEqual([said, silences.of("web-1")], [[], undefined]);
  silent.delete("web-2");
  silences.check();
  pass(1);
  const text = "accepts no connections on its port 127.0.0.1:3001 (PROCMAN_CLUSTER_PORT)";
  assert.deepEqual([said, silences.of("web-1")], [[`web-1 warn: runs, but ${text}`], text]);
  pass(UNREACHABLE_AFTER_MS * 3);
  silences.check();
  assert.equal(said.length, 1);
  silent.set("web-1", { id: "web-1", pid: PID + 2, port: 3_001 });
  silences.check();
  assert.equal(silences.of("web-1"), undefined);
  pass(UNREACHABLE_AFTER_MS);
  assert.equal(said.length, 2);
  silent.clear();
  silences.check();
  assert.equal(silences.of("web-1"), undefined);
  silent.set("web-1", { id: "web-1", pid: PID, port: 3_001 });
  silences.stop();
  silences.check();
  pass(UNREACHABLE_AFTER_MS * 2);
  assert.equal(said.length, 2, "nobody listens to it any more");
});

test("the port on which it listens instead is named", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  context.after(() => server.close());
  const { port } = server.address() as { readonly port: number };
  const { silences, silent, said, pass } = rig(context);
  silent.set("web-1", { id: "web-1", pid: process.pid, port: 3_001 });
  silences.check();
  pass(UNREACHABLE_AFTER_MS);
  assert.match(said[0] ?? "", new RegExp(`; it listens on (?:\\d+, )*${port}(?:,|$)`));
});
