import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChosenPorts, PortScope } from "../port-choice.ts";
import { ConfigurationError } from "../problems.ts";
import type { Config } from "../spec.ts";
import { resolveConfiguration } from "../validate.ts";

/** Gives the ports from 20001 on, in the order of the wishes. */
function choose({ wishes }: PortScope): ChosenPorts {
  const ports = new Map(wishes.map(({ id }, index) => [id, 20_001 + index]));
  return { ports, warnings: [], missing: [] };
}

function configOf(processes: readonly object[], top: object = {}): Config {
  return resolveConfiguration({ ...top, processes }, { cwd: "/srv", parallelism: 2, ports: choose });
}

function problems(processes: readonly object[], top: object = {}): readonly string[] {
  try {
    configOf(processes, top);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

const api = { id: "api", cmd: "node api.js", port: "auto", autostart: true };

test("{port} and {port:ID} are filled into commands, variables, hooks and checks, also of two that name each other", () => {
  const { processes, chosenPorts } = configOf(
    [
      {
        ...api,
        cmd: "node api.js --web {port:web} ${port} ${port:-1}",
        health: { http: "http://127.0.0.1:{port}/up" },
        ready: { port: "{port}" },
      },
      {
        id: "web",
        worker: ["web.js", "--port={port}"],
        port: 8080,
        autostart: true,
        env: { API: "http://127.0.0.1:{port:api}/", PAIR: "{port:pair} {port:pair-2}" },
        hooks: { beforeStart: "echo {port:api} {instance}" },
        ready: { exec: "curl localhost:{port}/{port:api}" },
        health: { port: "{port:api}" },
      },
      {
        id: "pair",
        cmd: "x {port} {instance} {port:api}",
        autostart: true,
        cluster: { instances: 2, startPort: "auto", commonPort: "auto" },
      },
    ],
    { env: { ALL: "{port:api}" } },
  );
  const [first, web, one, two] = processes;
  assert.deepEqual(chosenPorts, { api: 20_001, pair: 20_002, "pair-1": 20_003, "pair-2": 20_004 });
  assert.deepEqual(
    [first?.port, web?.port, one?.port, one?.cluster?.port, two?.cluster?.port, two?.front?.port],
    [20_001, 8_080, undefined, 20_003, 20_004, 20_002],
  );
  assert.deepEqual(first?.command, { kind: "shell", line: "node api.js --web 8080 ${port} ${port:-1}" });
  assert.deepEqual(first?.ready, { kind: "port", port: 20_001 });
  assert.deepEqual(first?.health?.probe, { kind: "http", hostname: "127.0.0.1", port: 20_001, path: "/up" });
  assert.deepEqual(web?.command, { kind: "worker", script: "/srv/web.js", args: ["--port=8080"] });
  assert.deepEqual(web?.env, { ALL: "20001", API: "http://127.0.0.1:20001/", PAIR: "20002 20004" });
  assert.equal(web?.policy.beforeStart?.line, "echo 20001 {instance}");
  assert.deepEqual(web?.ready, { kind: "exec", line: "curl localhost:8080/20001" });
  assert.deepEqual(web?.health?.probe, { kind: "port", port: 20_001 });
  assert.deepEqual(two?.command, { kind: "shell", line: "x 20004 2 20001" });
});

test("without a port, braces of commands and values stay as they are", () => {
  const [web] = configOf([
    { id: "web", cmd: "awk '{port}'", autostart: true, env: { A: "{port} {instance}" } },
  ]).processes;
  assert.deepEqual(web?.command, { kind: "shell", line: "awk '{port}'" });
  assert.deepEqual([web?.env, web?.port], [{ A: "{port} {instance}" }, undefined]);
});

test("{port:ID} of an unknown process, or of one without a port, is an error at its place", () => {
  const cluster = { id: "pair", cmd: "x", autostart: true, cluster: { instances: 2 } };
  const about = (text: string) => problems([api, cluster, { id: "db", cmd: "x", autostart: true, env: { A: text } }]);
  assert.deepEqual(about("{port:apo}"), [
    'processes[2].env.A Found "{port:apo}"; allowed: the id of a process of this file. Did you mean "api"?',
  ]);
  assert.deepEqual(about("{port:db}"), ['processes[2].env.A Found "{port:db}", but "db" has no "port"; give it one.']);
  assert.deepEqual(about("{port:pair-1}"), [
    'processes[2].env.A Found "{port:pair-1}", but its cluster has no "startPort"; give it one.',
  ]);
  assert.deepEqual(about("{port:pair}"), [
    'processes[2].env.A Found "{port:pair}", but the cluster "pair" has no "commonPort"; give it one, or name an instance, as in "{port:pair-1}".',
  ]);
  for (const [fields, place] of [
    [{ cmd: "x {port:no}" }, "cmd"],
    [{ hooks: { afterStop: { cmd: "{port:no}" } } }, "hooks.afterStop.cmd"],
    [{ ready: { port: "{port:no}" } }, "ready.port"],
    [{ health: { http: "http://127.0.0.1:{port:no}/" } }, "health.http"],
    [{ health: { exec: "x {port:no}" } }, "health.exec"],
  ] as const)
    assert.match(
      problems([{ id: "web", cmd: "x", autostart: true, ...fields }]).join("\n"),
      new RegExp(`^processes\\[0\\]\\.${place.replaceAll(".", "\\.")} Found "\\{port:no\\}"; allowed: the id`),
    );
  assert.match(problems([api], { env: { A: "{port:no}" } }).join(), /^env\.A Found "\{port:no\}"/);
});

test("a port beside a cluster, a public common port of auto, and a wrong value are errors", () => {
  const cluster = { instances: 2, startPort: "auto", commonPort: "auto" };
  const about = (fields: object) => problems([{ id: "web", cmd: "x", autostart: true, ...fields }]).join("\n");
  assert.match(about({ port: 3000, cluster: { instances: 2 } }), /^processes\[0\]\.port Found "port" beside "cluster"/);
  assert.match(
    about({ cluster: { ...cluster, hostname: "0.0.0.0" } }),
    /commonPort Found "auto" with the "hostname" "0\.0\.0\.0": other machines can't know/,
  );
  assert.equal(about({ cluster }), "");
  assert.match(about({ port: "any" }), /port Found "any"; allowed: a whole number from 1 to 65535, or "auto"/);
  assert.match(about({ port: 70_000 }), /port Found 70000; allowed: a whole number from 1 to 65535/);
  assert.match(
    about({ ready: { http: "http://127.0.0.1:{port}/" } }),
    /Found "\{port\}", but the process has no "port"/,
  );
  const probes = { ready: { port: "{port}" }, health: { http: "http://127.0.0.1:{port}/" } };
  assert.equal(
    about({ ...probes, idle: { port: 3000, after: 60 } }),
    "",
    "the program listens on a port that procman chooses",
  );
});

test("portRange has two ports, in their order, and as many as the file asks for", () => {
  const about = (portRange: unknown, processes: readonly object[] = [api]) => problems(processes, { portRange }).join();
  assert.equal(about("20000-20000"), "");
  for (const range of ["0-10", "30000-20000", "60000-70000"])
    assert.match(about(range), /^portRange Found ".*"; allowed: two ports from 1 to 65535, the first not above/);
  for (const range of ["20000", "auto", "20000-", 20_000])
    assert.match(about(range), /^portRange Found .*; allowed: two ports, such as "20000-23999"/);
  assert.match(
    about("20000-20001", [api, { ...api, id: "pair", port: undefined, cluster: { instances: 2, startPort: "auto" } }]),
    /^portRange Found "20000-20001": the file asks for 3 ports by "auto"; give as many\./,
  );
});

test("two processes with one fixed port are refused, and so is a configuration without a free port", () => {
  const fixed = (id: string) => ({ id, cmd: "x", autostart: true, port: 3000 });
  assert.match(problems([fixed("a"), fixed("b")]).join(), /processes\[1\]\.port Found 3000; port 3000 belongs to/);
  const missing = (): ChosenPorts => ({
    ports: new Map([["api", 1]]),
    warnings: [],
    missing: [{ path: ["processes", 0, "port"], message: "none is left" }],
  });
  assert.throws(() => resolveConfiguration({ processes: [api] }, { cwd: "/srv", ports: missing }), /none is left/);
});
