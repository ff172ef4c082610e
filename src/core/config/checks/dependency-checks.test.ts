/** `dependsOn`: issue 6, "Build" 2 and "Bad input". */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diff } from "../diff.ts";
import { ConfigurationError } from "../problems.ts";
import type { Config } from "../spec.ts";
import { resolveConfiguration } from "../validate.ts";

type Raw = { readonly id: string; readonly [field: string]: unknown };

function read(...processes: readonly Raw[]): Config {
  const data = { processes: processes.map((process) => ({ cmd: "x", autostart: true, ...process })) };
  return resolveConfiguration(data, { file: "/shop/procman.jsonc", parallelism: 4 });
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

test("an id alone means ready; a cluster means all its instances; a process with dependencies waits", () => {
  const { processes } = read(
    {
      id: "web",
      dependsOn: ["db", { id: "migrate", condition: "finished" }, { id: "app", condition: "started", restart: true }],
    },
    { id: "db" },
    { id: "migrate" },
    { id: "app", cluster: { instances: 2 } },
  );
  assert.deepEqual(processes[0]?.dependsOn, [
    { id: "db", condition: "ready", restart: false, members: ["db"] },
    { id: "migrate", condition: "finished", restart: false, members: ["migrate"] },
    { id: "app", condition: "started", restart: true, members: ["app-1", "app-2"] },
  ]);
  assert.deepEqual(
    [processes[0]?.policy.waits, processes[1]?.policy.waits, processes[1]?.dependsOn],
    [true, false, undefined],
  );
});

test("each cycle is reported once, at the entry that closes it", () => {
  assert.deepEqual(
    problemsOf(
      { id: "a", dependsOn: ["b"] },
      { id: "b", dependsOn: ["c"] },
      { id: "c", dependsOn: ["a"] },
      { id: "d", dependsOn: ["d", "a"] },
    ),
    [
      "processes[2].dependsOn[0] Found a cycle: a → b → c → a; allowed: an order in which they can start.",
      "processes[3].dependsOn[0] Found a cycle: d → d; allowed: an order in which they can start.",
    ],
  );
});

test("unknown ids, duplicates and an unknown condition are reported with a similar value", () => {
  assert.deepEqual(
    problemsOf(
      {
        id: "web",
        dependsOn: [
          "dbb",
          "db",
          { id: "db", condition: "started" },
          { id: "job", condition: "finished", restart: true },
        ],
      },
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

test("a dependency that is only started manually is a warning", () => {
  const { warnings } = read({ id: "web", dependsOn: ["db"] }, { id: "db", autostart: false });
  assert.ok(
    warnings.some(({ message }) => message === '"db" is only started manually: until then "web" waits for it.'),
  );
});

test("another dependency is not a restart", () => {
  const [before, now] = [read({ id: "web" }, { id: "db" }), read({ id: "web", dependsOn: ["db"] }, { id: "db" })];
  assert.deepEqual(diff(before.processes, now.processes).changed, [
    { id: "web", fields: ["dependsOn"], restart: false, route: false },
  ]);
});

test("a chain of thousands of processes is valid; its cycle is reported", () => {
  const chain = Array.from({ length: 5_000 }, (_, index) => ({
    id: `p${index}`,
    dependsOn: index === 0 ? [] : [`p${index - 1}`],
  }));
  // From the end, each is visited within the one before.
  assert.equal(read(...chain.toReversed()).processes.length, 5_000);
  assert.match(
    problemsOf(...chain.with(0, { id: "p0", dependsOn: ["p4999"] })).join(),
    /^processes\[1\].dependsOn\[0\] Found a cycle: p0 → p4999 → /,
  );
});
