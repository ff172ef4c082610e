/** The test of kills of procman's components at seeded moments, while its processes print, crash and are started and stopped. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runScenario } from "./kill-schedule.ts";
import { assess, type Verdict } from "./verdict.ts";

const KILLS = 60;

export async function verdictOf(context: TestContext, seed: number): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), `procman-seed-${seed}-`));
  mkdirSync(join(folder, "progress"));
  context.diagnostic(`seed ${seed} (PROCMAN_FAULT_SEED=${seed} repeats it), ${folder}`);
  const scenario = await runScenario(folder, seed, KILLS);
  context.after(() => scenario.procman.destroy());
  const verdict = assess(folder, scenario, await scenario.procman.end());
  context.diagnostic(JSON.stringify(verdict.counts));
  if (verdict.findings.length === 0) rmSync(folder, { recursive: true, force: true });
  else console.error(`seed ${seed}, kept in ${folder}:\n${verdict.findings.join("\n")}`);
  return verdict;
}

export function testSeed(seed: number): void {
  test(`kills at the moments of seed ${seed}: no second copy, no lost exit or line, every command completed, no process left behind`, async (context) => {
    const { findings, counts } = await verdictOf(context, seed);
    assert.deepEqual(findings, []);
    // Less would mean that the test misses its purpose.
    for (const [what, least] of Object.entries({ kills: KILLS, service: 12, logger: 12, keeper: 8, runs: 40, commands: 5, lines: 50_000 }))
      assert.ok((counts[what] ?? 0) >= least, `${what}: ${counts[what]}, at least ${least}`);
  });
}
