import assert from "node:assert/strict";
import { test } from "node:test";
import { idleErrors } from "./idle-checks.ts";

const web = { id: "web", cmd: "node server.js" };
const idle = { after: 300 };
const cluster = { instances: 2, startPort: 3001, commonPort: 3000 };

function errors(...processes: readonly object[]): readonly string[] {
  return idleErrors({ processes } as never).map(({ path, message }) => `${path.slice(1).join(".")}: ${message}`);
}

test("a process needs a port for its clients, a cluster has one", () => {
  assert.deepEqual(errors({ ...web, idle: { ...idle, port: 3000 } }, { ...web, id: "api", cluster, idle }), []);
  assert.match(errors({ ...web, idle })[0] ?? "", /^0\.idle: Missing key "port"/);
  assert.match(
    errors({ ...web, cluster, idle: { ...idle, port: 3000 } })[0] ?? "",
    /^0\.idle\.port: .* beside "cluster"/,
  );
  assert.match(errors({ ...web, cluster: { instances: 2 }, idle })[0] ?? "", /^0\.idle: .* without "commonPort"/);
});

test("the program can't listen on the port of its clients", () => {
  for (const PORT of [3000, "3000"])
    assert.match(
      errors({ ...web, env: { PORT }, idle: { ...idle, port: 3000 } })[0] ?? "",
      /^0\.idle\.port: Found 3000, which "env" gives to the program as PORT/,
    );
  assert.deepEqual(errors({ ...web, env: { PORT: 3001 }, idle: { ...idle, port: 3000 } }), []);
});

test("tasks and overlapping runs have no clients, and a wake is no restart for dependents", () => {
  const sleeper = { ...web, idle: { ...idle, port: 3000 } };
  assert.match(errors({ ...sleeper, task: true })[0] ?? "", /^0\.task: Found "task" with "idle"/);
  assert.match(errors({ ...sleeper, overrun: true })[0] ?? "", /^0\.overrun: Found "overrun" with "idle"/);
  const dependent = { id: "api", cmd: "node api.js", dependsOn: [{ id: "web", restart: true }] };
  assert.match(errors(sleeper, dependent)[0] ?? "", /^1\.dependsOn\.0\.restart: Found true for "web"/);
});

test("what is ignored is an address or a network", () => {
  const ignore = ["10.0.0.5", "10.1.0.0/16", "::1", "proxy", "10.0.0.0/40"];
  assert.deepEqual(
    errors({ ...web, idle: { ...idle, port: 3000, ignore } }).map((text) => text.split(";", 1)[0]),
    ['0.idle.ignore.3: Found "proxy"', '0.idle.ignore.4: Found "10.0.0.0/40"'],
  );
});

test("on a shared socket only Node programs that count their clients sleep, and what the load balancer sees doesn't count", () => {
  const share = { ...web, cluster: { instances: 2, mode: "share", commonPort: 3000 } };
  assert.deepEqual(errors({ ...share, node: true, idle: { ...idle, wakeTimeout: 5, busyFile: "busy" } }), []);
  assert.match(errors({ ...share, idle })[0] ?? "", /^0\.idle: Found "idle" .*without "node": true.* Add that; /);
  assert.match(
    errors({ ...share, node: true, idle: { ...idle, wakeOn: "data" } })[0] ?? "",
    /^0\.idle\.wakeOn: Found "data" with "mode": "share"; allowed: "connect"\. .* Remove it, or use the load balancer/,
  );
  assert.match(
    errors({ ...share, node: true, idle: { ...idle, ignore: ["10.0.0.5"] } })[0] ?? "",
    /^0\.idle\.ignore: Found "ignore" with "mode": "share"; .* Remove it, or use the load balancer/,
  );
});
