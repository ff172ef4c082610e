/** `examples/kill-the-manager`, as a user runs it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BIN } from "../support/product.ts";

const SCRIPT = fileURLToPath(new URL("../../examples/kill-the-manager/run.mjs", import.meta.url));

test("the example kills every component of procman, and only exit codes that no parent saw are lost", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, "--rounds", "1", "--json"], {
    timeout: 120_000,
    env: { ...process.env, PROCMAN_BIN: BIN },
  });
  const { kills, lines, exits, exitsLost, marked, backMs, megabytes, manager, ...lost } = JSON.parse(stdout) as Record<
    string,
    unknown
  >;
  assert.deepEqual(lost, {
    died: 0,
    restarts: 0,
    copies: 0,
    missing: 0,
    doubled: 0,
    damaged: 0,
    left: 0,
    findings: [],
  });
  assert.equal(manager, "procman");
  assert.equal(kills, 4);
  assert.ok(Number(lines) > 1_000 && Number(exits) > Number(exitsLost), stdout);
  assert.ok(
    Number(marked) <= 2 * 2 * (65_536 + 21_000),
    "at most the unwritten data of two printers in two killed loggers",
  );
  assert.deepEqual(Object.keys(backMs as object), ["service", "logger", "keeper", "everything"]);
});
