/** The long half of the tests, `test/long`, one test at a time: for `npm run long`, and for `npm run matrix -- --long`. */
import { ensurePrograms } from "./bootstrap.mjs";
import { runTests } from "./node-tests.mjs";

const TIMEOUT_MS = 120 * 60_000;

/** Installs system programs where that is possible, and says what stays away. Resolves with the environment of the tests. */
export async function prepareLongTests() {
  const missing = await ensurePrograms();
  if (missing.length > 0)
    console.log(`\n!!! NOT INSTALLED: ${missing.join(", ")}. The tests that need them are skipped.\n`);
  if (process.getuid?.() !== 0) console.log("\n!!! NOT ROOT: the tests as other users are skipped. Run it as root.\n");
  return { PROCMAN_TEST_MISSING: missing.join(" ") };
}

/** All of them without `places`. `options` as for `runTests`: `node`, `env`. */
export async function runLongTests(places, options) {
  const all = places.length > 0 ? places : ["test/long"];
  const { ok, why, passed, failed } = await runTests(all, {
    timeoutMs: TIMEOUT_MS,
    concurrency: 1,
    show: true,
    ...options,
  });
  if (!ok) console.log(`FAIL: ${why}`);
  return { passed, failed };
}
