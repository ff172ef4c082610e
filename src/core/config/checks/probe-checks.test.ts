import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";

const OPTIONS = { file: "/shop/procman.jsonc", parallelism: 4 };
const web = { id: "web", cmd: "x", autostart: true };

function specs(fields: object, more: object = {}) {
  return resolveConfiguration({ processes: [{ ...web, ...fields }], ...more }, OPTIONS).processes;
}

/** `path message` of each problem. */
function about(fields: object, more: object = {}): string {
  try {
    specs(fields, more);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`).join("\n");
  }
}

test("ready: each kind becomes a probe, the timeout is 30 s by default", () => {
  const of = (ready: object) => specs({ ready })[0]?.ready;
  assert.deepEqual(of({ port: 3000 }), { kind: "port", port: 3000 });
  assert.deepEqual(of({ http: "http://localhost/up?x=1" }), {
    kind: "http",
    hostname: "localhost",
    port: 80,
    path: "/up?x=1",
  });
  assert.deepEqual(of({ http: "http://[::1]:81" }), { kind: "http", hostname: "::1", port: 81, path: "/" });
  assert.deepEqual(of({ log: "listening" }), { kind: "log", pattern: "listening" });
  assert.deepEqual(of({ exec: "test -f a" }), { kind: "exec", line: "test -f a" });
  assert.deepEqual(of({ fd: 3 }), { kind: "fd", fd: 3 });
  assert.equal(specs({ ready: { fd: 3 } })[0]?.policy.readyMs, 30_000);
  assert.equal(specs({ ready: { fd: 3, timeout: 0.5 } })[0]?.policy.readyMs, 500);
  assert.equal(specs({})[0]?.policy.readyMs, undefined);
});

test("ready: {port} is that of each instance", () => {
  const cluster = { instances: 2, startPort: 4000 };
  assert.deepEqual(
    specs({ cluster, ready: { port: "{port}" } }).map(({ ready }) => ready),
    [
      { kind: "port", port: 4000 },
      { kind: "port", port: 4001 },
    ],
  );
  assert.deepEqual(specs({ cluster, ready: { http: "http://127.0.0.1:{port}/up" } })[1]?.ready, {
    kind: "http",
    hostname: "127.0.0.1",
    port: 4001,
    path: "/up",
  });
});

test("ready: invalid values are refused with place and remedy", () => {
  assert.match(
    about({ ready: {} }),
    /^processes\[0\]\.ready Found none of "port", "http", "log", "exec", "fd", "message"; allowed: exactly one/,
  );
  assert.match(about({ ready: { port: 1, fd: 3 } }), /ready\.fd Found "port" and "fd"; allowed: exactly one of/);
  assert.match(
    about({ ready: { port: 0 } }),
    /ready\.port Found 0; allowed: a whole number from 1 to 65535, or "\{port\}"/,
  );
  assert.match(
    about({ ready: { port: "{port}" } }),
    /ready\.port Found "\{port\}", but the process has no "port"\. Give it one, or write the number itself/,
  );
  assert.match(
    about({ ready: { http: "https://x/" } }),
    /ready\.http Found "https:\/\/x\/"; .*for https use "exec" with curl/,
  );
  assert.match(
    about({ ready: { http: "localhost:3000" } }),
    /ready\.http Found "localhost:3000"; allowed: an address such as "http:/,
  );
  assert.match(about({ ready: { log: "(" } }), /ready\.log Found "\("; allowed: a regular expression of JavaScript/);
  assert.match(
    about({ ready: { log: "x" } }, { logger: { internalLogHours: 0 } }),
    /ready\.log Found "log" with "logger\.internalLogHours" 0/,
  );
  assert.match(about({ ready: { fd: 2 } }), /ready\.fd Found 2; allowed: a whole number from 3 to 9/);
  assert.match(about({ ready: { fd: 3, timeout: 0 } }), /ready\.timeout Found 0; allowed: a number of seconds/);
  assert.match(about({ ready: { prot: 3 } }), /ready\.prot Found the unknown key "prot"\. Did you mean "port"\?/);
});

test("health: one of three kinds, probed every 10 s by default", () => {
  const of = (health: object, more: object = {}) => specs({ health, ...more }).at(-1)?.health;
  assert.deepEqual(of({ port: 3000 }), {
    probe: { kind: "port", port: 3000 },
    intervalMs: 10_000,
    timeoutMs: 5_000,
    failures: 3,
    startMs: 0,
  });
  assert.deepEqual(
    of(
      { port: "{port}", interval: 1, timeout: 0.5, failures: 1, startPeriod: 60 },
      { cluster: { instances: 2, startPort: 4000 } },
    ),
    { probe: { kind: "port", port: 4001 }, intervalMs: 1_000, timeoutMs: 500, failures: 1, startMs: 60_000 },
  );
});

test("health: invalid values are refused with place and remedy", () => {
  assert.match(
    about({ health: { interval: 5 } }),
    /^processes\[0\]\.health Found none of "port", "http", "exec"; allowed: exactly one/,
  );
  assert.match(about({ health: { log: "x" } }), /health\.log Found the unknown key "log"/);
  assert.match(
    about({ health: { port: 1, failures: 0 } }),
    /health\.failures Found 0; allowed: a whole number from 1 to 1000/,
  );
  assert.match(about({ health: { http: "https://x" } }), /health\.http .*for https use "exec" with curl/);
});

test("ready.message is for workers, and for commands with node", () => {
  assert.match(
    about({ ready: { message: true } }),
    /ready\.message Found "message" for a command that has no channel\. Add "node": true/,
  );
  assert.equal(about({ ready: { message: true }, node: true }), "");
  assert.deepEqual(specs({ ready: { message: true }, node: true })[0]?.ready, { kind: "message" });
});
