/** `examples/kill-the-manager`, as a user runs it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SCRIPT = fileURLToPath(new URL("../../examples/kill-the-manager/run.mjs", import.meta.url));

test("the example kills every part of procman, and only exit codes that no parent saw are lost", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "1"], { timeout: 120_000 });
  assert.equal(stdout.match(/^killed .*: back after \d+ ms$/gm)?.length, 4, stdout);
  const result = JSON.parse(stdout.slice(stdout.indexOf("{"))) as Readonly<Record<string, number>>;
  const { lines = 0, crashes = 0, exitCodesRecorded = 0, marked = 0, ...lost } = result;
  assert.deepEqual(lost, { kills: 4, restartsOfRunning: 0, missing: 0, doubled: 0, damaged: 0 });
  assert.ok(lines > 1_000 && exitCodesRecorded > 0 && exitCodesRecorded <= crashes, stdout);
  assert.ok(marked < lines, stdout);
});
