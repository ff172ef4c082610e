/** `npm run long [-- FILE or FOLDER …]`: the tests in `test/long`, one at a time: those that take long, or run as other users. */
import { ensureBuild, ensurePackages, ensurePrograms } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { runTests } from "./node-tests.mjs";

const TIMEOUT_MS = 120 * 60_000;

const named = process.argv.slice(2);

async function main() {
  await ensurePackages();
  await ensureBuild();
  const missing = await ensurePrograms();
  if (missing.length > 0) console.log(`\n!!! NOT INSTALLED: ${missing.join(", ")}. The tests that need them are skipped.\n`);
  if (process.getuid?.() !== 0) console.log("\n!!! NOT ROOT: the tests as other users are skipped. Run `npm run long` as root.\n");
  const places = named.length > 0 ? named : ["test/long"];
  const env = { PROCMAN_TEST_MISSING: missing.join(" ") };
  const { ok, why, passed, failed } = await runTests(places, { timeoutMs: TIMEOUT_MS, concurrency: 1, show: true, env });
  if (!ok) console.log(`FAIL: ${why}`);
  return { passed, failed };
}

endWithNpm();
const { passed, failed } = await main().catch((error) => {
  console.error(error);
  return { passed: 0, failed: 1 };
});
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
