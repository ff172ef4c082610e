/** `dependsOn`: issue 6, "Build" 2 and "Bad input". */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "../diff.ts";
import { ConfigurationError } from "../problems.ts";
import type { Config } from "../spec.ts";
import { validateConfiguration } from "../validate.ts";

type Raw = { readonly id: string; readonly [field: string]: unknown };

function read(...processes: readonly Raw[]): Config {
  const data = { processes: processes.map((process) => ({ cmd: "x", autostart: true, ...process })) };
  return validateConfiguration(data, { file: "/shop/procman.jsonc", parallelism: 4 });
}

function problemsOf(...processes: readonly Raw[]): readonly string[] {
  try {
    read(...processes);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

test("an id alone must be ready; of a cluster all instances are named; whoever depends on something waits", () => {
  const { processes } = read(
    { id: "web", dependsOn: ["db", { id: "migrate", condition: "finished" }, { id: "app", condition: "started", restart: true }] },
    { id: "db" },
    { id: "migrate" },
    { id: "app", cluster: { instances: 2 } },
  );
  assert.deepEqual(processes[0]?.dependsOn, [
    { id: "db", condition: "ready", restart: false, members: ["db"] },
    { id: "migrate", condition: "finished", restart: false, members: ["migrate"] },
    { id: "app", condition: "started", restart: true, members: ["app-1", "app-2"] },
  ]);
  assert.deepEqual([processes[0]?.policy.waits, processes[1]?.policy.waits, processes[1]?.dependsOn], [true, false, undefined]);
});

test("a circle is shown, each once, where the file closes it", () => {
  assert.deepEqual(
    problemsOf(
      { id: "a", dependsOn: ["b"] },
      { id: "b", dependsOn: ["c"] },
      { id: "c", dependsOn: ["a"] },
      { id: "d", dependsOn: ["d", "a"] },
    ),
    [
      "processes[2].dependsOn[0] Found a circle: a → b → c → a; allowed: an order in which they can start.",
      "processes[3].dependsOn[0] Found a circle: d → d; allowed: an order in which they can start.",
    ],
  );
});

test("ids that are none, twice the same, and a condition that is none are told with what was perhaps meant", () => {
  assert.deepEqual(
    problemsOf(
      { id: "web", dependsOn: ["dbb", "db", { id: "db", condition: "started" }, { id: "job", condition: "finished", restart: true }] },
      { id: "db" },
      { id: "job" },
    ),
    [
      'processes[0].dependsOn[0] Found "dbb"; allowed: the id of another process of this file. Did you mean "db"?',
      'processes[0].dependsOn[2] Found "db" twice; allowed: each process once.',
      'processes[0].dependsOn[3].restart Found true with the condition "finished"; allowed: with "started" or "ready".',
    ],
  );
  assert.match(
    problemsOf({ id: "web", dependsOn: [{ id: "db", condition: "redy" }] }, { id: "db" }).join(),
    /Did you mean "ready"\?|"ready"/,
  );
  assert.match(problemsOf({ id: "web", dependsOn: "db" }, { id: "db" }).join(), /allowed: a list/);
});

test("whoever it depends on starts only by hand: a warning", () => {
  const { warnings } = read({ id: "web", dependsOn: ["db"] }, { id: "db", autostart: false });
  assert.ok(warnings.some(({ message }) => message === '"db" starts only by hand: until then "web" waits for it.'));
});

test("another dependency needs no restart of what runs", () => {
  const [before, now] = [read({ id: "web" }, { id: "db" }), read({ id: "web", dependsOn: ["db"] }, { id: "db" })];
  assert.deepEqual(diff(before.processes, now.processes).changed, [{ id: "web", fields: ["dependsOn"], restart: false, route: false }]);
});
