import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "./problems.ts";
import { type CheckOptions, resolveConfiguration } from "./validate.ts";

const BASE = { id: "web", cmd: "run", autostart: true, env: { A: "1", B: "2" }, watch: ["a", "b"] };

function problems(input: unknown, options: CheckOptions): readonly string[] {
  try {
    resolveConfiguration(input, { file: "/srv/procman.json", shownAs: "p.json", ...options });
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
  }
  return [];
}

test("a profile is merged: objects by their keys, processes by id, all else replaced, new processes last", () => {
  const production = {
    processes: [
      { id: "job", cmd: "job" },
      { id: "web", env: { B: "3", C: "4" }, watch: ["c"], terminateTimeout: 5 },
    ],
    api: { port: 4000 },
  };
  const file = { processes: [{ id: "first", cmd: "first" }, BASE], api: { hostname: "::1" }, profiles: { production } };
  const { processes, api, profile } = resolveConfiguration(file, { profile: "production" });
  assert.deepEqual(
    processes.map(({ id }) => id),
    ["first", "web", "job"],
  );
  const [, web] = processes;
  assert.deepEqual(web?.env, { A: "1", B: "3", C: "4" });
  assert.equal(web?.watch.length, 1);
  assert.equal(web?.policy.terminateMs, 5_000);
  assert.deepEqual([api.hostname, api.port, profile], ["::1", 4000, "production"]);
});

test("no profile is merged unless it is selected", () => {
  const { processes, profile } = resolveConfiguration({
    processes: [BASE],
    profiles: { p: { processes: [{ id: "web", cmd: "other" }] } },
  });
  assert.deepEqual([processes.length, processes[0]?.command, profile], [1, { kind: "shell", line: "run" }, undefined]);
});

test("an unknown profile is refused, with a similar name", () => {
  const file = { processes: [BASE], profiles: { production: {}, test: {} } };
  assert.match(
    problems(file, { profile: "prodution" }).join(),
    /profiles Found no profile "prodution"; .*"production", "test"\. Did you mean "production"\?/,
  );
  assert.match(
    problems({ processes: [BASE] }, { profile: "x" }).join(),
    /Found no profile "x": the file defines none\. Remove --profile/,
  );
  assert.match(problems(file, { profile: "__proto__" }).join(), /Found no profile/);
});

test("with allProfiles each profile is checked, and a problem has its place in the text", () => {
  const text = `{
  "processes": [{ "id": "web", "cmd": "run", "autostart": true }],
  "profiles": {
    "good": { "api": { "port": 4000 } },
    "bad": {
      "processes": [
        { "id": "new", "cmd": "x", "restart": "allways", "autostart": true },
        { "id": "web", "timeout": "5" }
      ],
      "name": "other",
      "apii": {}
    }
  }
}`;
  assert.deepEqual(problems(text, {}), []);
  assert.deepEqual(problems(text, { profile: "good" }), []);
  const found = problems(text, { allProfiles: true });
  assert.deepEqual(
    found.map((problem) => problem.split(" ", 2).join(" ")),
    [
      "7:47 profiles.bad.processes[0].restart",
      "8:35 profiles.bad.processes[1].timeout",
      "10:7 profiles.bad.name",
      "11:7 profiles.bad.apii",
    ],
  );
  assert.deepEqual(problems(text, { profile: "bad" }), found);
});

test("a problem outside of profiles is reported once, however many profiles there are", () => {
  const file = { processes: [{ id: "web", cmd: 5 }], profiles: { a: {}, b: {} } };
  assert.equal(problems(file, { allProfiles: true }).length, 1);
});
