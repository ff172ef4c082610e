/** `npm test`: from a fresh clone to one last line, `N passed, N failed`. Every phase has a deadline, so it always ends. */
import { build, ensurePackages, ensurePrograms } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { runGate } from "./gate.mjs";
import { REAL, runTests } from "./node-tests.mjs";
import { installProduct } from "./packed-product.mjs";
import { runCommand } from "./run-command.mjs";

const MINUTE = 60_000;

/** One file at a time where time matters to a test: two neighbours on two cores make each other late. */
const PHASES = [
  { folder: "test/model-wide", timeoutMs: 8 * MINUTE, concurrency: 2 },
  ...REAL.map((folder) => ({ folder, timeoutMs: 8 * MINUTE, concurrency: 2 })),
  { folder: "test/integration", timeoutMs: 20 * MINUTE, concurrency: 2 },
  { folder: "test/e2e", timeoutMs: 15 * MINUTE, concurrency: 2 },
  { folder: "test/boot", timeoutMs: 8 * MINUTE, concurrency: 2 },
  { folder: "test/dashboard", timeoutMs: 5 * MINUTE, concurrency: 1 },
  // Pages, and their blocks, run side by side.
  { folder: "test/pages", timeoutMs: 10 * MINUTE, concurrency: 1 },
  { folder: "test/faults", timeoutMs: 15 * MINUTE, concurrency: 2 },
];

const totals = { passed: 0, failed: 0, failures: [] };

function count({ passed, failed, failures = [] }) {
  totals.passed += passed;
  totals.failed += failed;
  totals.failures.push(...failures);
}

function heading(text) {
  console.log(`\n=== ${text}`);
}

async function prepare() {
  heading("prepare");
  await ensurePackages();
  await build();
  const missing = await ensurePrograms();
  if (missing.length === 0) return missing;
  console.log(`\n!!! NOT INSTALLED: ${missing.join(", ")}. The tests that need them are skipped.\n`);
  if (process.env.CI === "true") count({ passed: 0, failed: missing.length });
  return missing;
}

async function checkPackage() {
  const { ok, output } = await runCommand([process.execPath, "node_modules/publint/src/cli.js", "--strict"], { timeoutMs: MINUTE });
  console.log(ok ? "ok   package" : `FAIL package\n${output}`);
  count({ passed: Number(ok), failed: Number(!ok), failures: ok ? [] : [output] });
}

async function runPhase({ folder, ...options }, env) {
  heading(folder);
  const { ok, passed, failed, why, failures } = await runTests([folder], { ...options, show: true, env });
  if (ok) return count({ passed, failed });
  const verdict = `FAIL ${folder}: ${why}`;
  console.log(verdict);
  count({ passed, failed, failures: [`${verdict}\n${failures}`] });
}

async function main() {
  const missing = await prepare();
  heading("gate");
  count(await runGate());
  await checkPackage();
  const env = { PROCMAN_TEST_MISSING: missing.join(" "), ...(await installProduct()) };
  for (const phase of PHASES) await runPhase(phase, env);
}

endWithNpm();
await main().catch((error) => {
  console.error(error);
  count({ passed: 0, failed: 1 });
});
// Again at the end: who reads only the last lines of a long log sees what failed.
if (totals.failures.length > 0) console.log(`\n=== what failed\n${totals.failures.join("\n\n")}`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;
