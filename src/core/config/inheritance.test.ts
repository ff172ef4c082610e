import assert from "node:assert/strict";
import { test } from "node:test";
import { inheritedVariables } from "../base/inherited-variables.ts";
import type { RawConfig } from "./config-schema.ts";
import { diff } from "./diff.ts";
import { inheritanceOf } from "./inheritance.ts";
import { normalise } from "./normalise.ts";
import type { Config } from "./spec.ts";

const OWN = { PATH: "/bin", HOME: "/root", LC_ALL: "C", CI_TOKEN: "t", HOOK: "h", OTHER: "o" };

function configOf(raw: RawConfig): Config {
  return {
    ...normalise(raw, { folder: "/srv", parallelism: 2, now: new Date(0), stripsTypes: false }),
    file: "",
    warnings: [],
  };
}

/** Names of the variables that the process inherits. */
function inherited(config: Config, id: string): readonly string[] {
  const spec = config.processes.find((each) => each.id === id);
  assert.ok(spec !== undefined);
  return Object.keys(inheritedVariables(OWN, inheritanceOf(spec, config)));
}

test("a variable that a process or a plugin names as its secret reaches no other process", () => {
  const config = configOf({
    processes: [
      { id: "web", cmd: "x", env: { TOKEN: { env: "CI_TOKEN" } } },
      { id: "mail", cmd: "x" },
      { id: "all", cmd: "x", inheritEnv: true },
    ],
    plugins: [{ url: "procman/notify", options: { targets: [{ url: "${HOOK:-}" }], folder: "${HOME}" } }],
  });
  assert.deepEqual(inherited(config, "web"), ["PATH", "HOME", "LC_ALL", "CI_TOKEN", "OTHER"]);
  assert.deepEqual(inherited(config, "mail"), ["PATH", "HOME", "LC_ALL", "OTHER"]);
  assert.deepEqual(inherited(config, "all"), Object.keys(OWN));
});

test("names that programs need everywhere are never taken for secrets", () => {
  const config = configOf({
    processes: [
      { id: "web", cmd: "x", env: { A: { env: "PATH" }, B: { env: "LC_ALL" } } },
      { id: "mail", cmd: "x" },
    ],
  });
  assert.deepEqual(inherited(config, "mail"), Object.keys(OWN));
});

test("with a user, or without inheritEnv, a process inherits only what programs need to run", () => {
  const config = configOf({
    processes: [
      { id: "user", cmd: "x", user: 65_534 },
      { id: "none", cmd: "x", inheritEnv: false },
      { id: "both", cmd: "x", user: 65_534, inheritEnv: true },
    ],
  });
  assert.deepEqual(inherited(config, "user"), ["PATH", "LC_ALL"]);
  assert.deepEqual(inherited(config, "none"), ["PATH", "LC_ALL"]);
  assert.deepEqual(inherited(config, "both"), Object.keys(OWN));
});

test("inheritEnv as a list: what programs need to run and these names, also with a user, and secrets that are named there", () => {
  const config = configOf({
    processes: [
      { id: "some", cmd: "x", inheritEnv: ["OTHER", "CI_*"], user: 0 },
      { id: "none", cmd: "x", inheritEnv: [] },
      { id: "owner", cmd: "x", env: { T: { env: "CI_TOKEN" } } },
    ],
  });
  assert.deepEqual(inherited(config, "some"), ["PATH", "LC_ALL", "CI_TOKEN", "OTHER"]);
  assert.deepEqual(inherited(config, "none"), ["PATH", "LC_ALL"]);
});

test("another process's secret changes no specification, so it restarts nothing", () => {
  const of = (env: object): Config =>
    configOf({
      processes: [
        { id: "web", cmd: "x" },
        { id: "mail", cmd: "x", env },
      ],
    } as RawConfig);
  const change = diff(of({}).processes, of({ T: { env: "CI_TOKEN" } }).processes);
  assert.deepEqual(
    change.changed.map(({ id }) => id),
    ["mail"],
  );
});
