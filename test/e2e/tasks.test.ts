/** `"task": true`: docs/guide/processes.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";

const TASKS = [
  { id: "web", ...SLEEPER },
  { id: "test", cmd: "echo one; sleep 1.2; echo two >&2; exit $(cat code)", task: true },
  { id: "lint", cmd: "echo linted", task: true },
  { id: "deploy", cmd: "touch deployed; exit 3", task: true },
] as const;

test("a task is valid without a start policy, and refused with one", async (context) => {
  const { folder } = homeOf(context, TASKS);
  const valid = await procman(folder, ["validate"]);
  assert.deepEqual([valid.code, valid.err], [0, ""]);
  writeFileSync(
    join(folder, "bad.json"),
    '{ "processes": [{ "id": "a", "cmd": "true", "task": true, "cron": "* * * * *" }] }',
  );
  const { code, err } = await procman(folder, ["validate", "--config", "bad.json"]);
  assert.equal(code, 78);
  assert.match(err, /Found "cron" with "task", which is started by hand; remove one of them\./);
});

test("start of a task shows its output as it was written, waits for its end, and says how it ended", async (context) => {
  const { folder } = homeOf(context, TASKS);
  writeFileSync(join(folder, "code"), "0");
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const good = await procman(folder, ["start", "test"]);
  assert.deepEqual([good.code, good.err], [0, "two\n"]);
  assert.match(good.out, /^one\ntest: finished/);
  writeFileSync(join(folder, "code"), "7");
  const bad = await procman(folder, ["start", "test"]);
  assert.deepEqual([bad.code, bad.out], [1, "one\n"]);
  assert.match(bad.err, /^two\nprocman: Cannot start "test": it exited with code 7.*\n$/);
  const several = await procman(folder, ["start", "test", "lint"]);
  assert.equal(several.code, 1);
  assert.match(several.out, /^test \| one$/m);
  assert.match(several.out, /^lint \| linted$/m);
  assert.equal((await procman(folder, ["status"])).code, 3);
});

test("all stands for no task", async (context) => {
  const { folder } = homeOf(context, TASKS);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  for (const action of ["start", "restart"]) {
    const { code, err } = await procman(folder, [action, "all"]);
    assert.deepEqual([code, err], [0, ""]);
  }
  const records = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  assert.deepEqual(
    records.map(({ id, status, task }) => [id, status, task]),
    [
      ["web", "running", undefined],
      ["test", "created", true],
      ["lint", "created", true],
      ["deploy", "created", true],
    ],
  );
  assert.equal((await procman(folder, ["start", "deploy"])).code, 1);
  const { code, err } = await procman(folder, ["start", "all"]);
  assert.deepEqual([code, err], [0, ""], "a task that has failed earlier is not a failure of this start");
});

test("run --once of tasks shows their output", async (context) => {
  const { folder } = homeOf(context, TASKS);
  const { code, out } = await procman(folder, ["run", "--once", "lint"]);
  assert.deepEqual([code, out], [0, "lint    | linted\n"]);
});
