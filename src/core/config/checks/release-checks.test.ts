/** `releases` in a configuration: what it means, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { checkConfiguration, resolveConfiguration } from "../validate.ts";

const web = { id: "web", cmd: "node server.js", cwd: "current", autostart: true };
const cwd = "/srv/shop";

function problems(releases: object): readonly string[] {
  try {
    checkConfiguration({ processes: [web], releases }, { cwd });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
}

test("releases without anything has its defaults; commands have a limit", () => {
  const { releases } = resolveConfiguration({ processes: [web], releases: {} }, { cwd });
  assert.deepEqual(releases, {
    folder: "/srv/shop/releases",
    current: "/srv/shop/current",
    keep: 5,
    prepare: [],
    before: [],
    after: [],
  });
  const more = resolveConfiguration(
    {
      processes: [web],
      releases: {
        prepare: ["npm ci", { cmd: "make", timeout: 5 }],
        gate: { seconds: 30, metrics: { errors: "+0", queue: 9 } },
      },
    },
    { cwd },
  ).releases;
  assert.deepEqual(more?.prepare, [
    { line: "npm ci", timeoutMs: 600_000 },
    { line: "make", timeoutMs: 5_000 },
  ]);
  assert.deepEqual(more?.gate, { ms: 30_000, restarts: 0, metrics: { errors: "+0", queue: 9 } });
});

test("the link doesn't lie in the folder of the releases, nor the configuration in either", () => {
  assert.match(problems({ current: "releases/current" }).join(), /^releases\.current: .*lies beside the folder/);
  assert.match(problems({ folder: "current/all" }).join(), /^releases\.folder: .*lies beside the folder/);
  assert.match(problems({ folder: "/srv" }).join(), /^releases\.folder: .*, in which the configuration file lies/);
  assert.match(problems({ current: "." }).join(), /in which the configuration file lies/);
  assert.deepEqual(problems({ folder: "/var/releases", current: "/var/current" }), []);
});

for (const [releases, message] of [
  [{ keep: 0 }, /keep/],
  [{ prepare: "npm ci" }, /a list of command lines/],
  [{ gate: {} }, /seconds/],
  [{ gate: { seconds: 0 } }, /seconds/],
  [{ gate: { seconds: 5, metrics: { errors: "0" } } }, /"\+0"/],
  [{ warm: "yes" }, /warm/],
] as const)
  test(`refused: ${JSON.stringify(releases)}`, () => {
    assert.match(problems(releases).join("\n"), message);
  });

test("without a process in it, there is a warning", () => {
  const { warnings } = checkConfiguration({ processes: [{ ...web, cwd: "." }], releases: {} }, { cwd });
  assert.match(warnings.map(({ message }) => message).join(), /No process has its "cwd" or "worker" in "current"/);
  const worker = { id: "job", worker: "current/job.js", autostart: true };
  assert.deepEqual(checkConfiguration({ processes: [worker], releases: {} }, { cwd }).warnings, []);
});
