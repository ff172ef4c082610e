/** `examples/worker`, in a copy of its folder: a worker that completes its current job. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { procman as command } from "../support/cli.ts";
import { Procman } from "../support/procman-process.ts";

test("2.2 the worker example: a restart and a stop wait until the current job is done", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-worker-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(fileURLToPath(new URL("../../examples/worker", import.meta.url)), folder, { recursive: true });
  const config = join(folder, "procman.jsonc");
  writeFileSync(config, readFileSync(config, "utf8").replace('"--seconds", "3"', '"--seconds", "0.5"'));
  const procman = new Procman(folder);
  context.after(() => procman.close());
  await procman.line(/resize +\| job 1 begins/);
  const { code, err } = await command(folder, ["restart", "resize"]);
  assert.equal(code, 0, err);
  await procman.count(/resize +\| job 1 begins/, 2);
  assert.equal(await procman.stop("SIGINT"), 0);
  const jobLines = procman.lines.filter((line) => /job|drain/.test(line)).map((line) => line.replace(/^.*\| /, ""));
  const runs = jobLines.join("\n").split("job 1 begins\n").slice(1);
  assert.equal(runs.length, 2, jobLines.join("\n"));
  for (const run of runs) assert.match(run, /drain: ends after this job\njob \d+ is done\n?$/);
  assert.ok(!procman.lines.some((line) => /SIGTERM;|SIGKILL/.test(line.replace(/stopping \(.*/, ""))));
});
