/** `npm test`, and with `--rest` `npm run test:rest`: from a fresh clone to one last line, `N passed, N failed`. Every phase has a deadline, so it always ends. */
import { build, ensureBuild, ensurePackages, ensurePrograms } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { runGate } from "./gate.mjs";
import { installProduct } from "./packed-product.mjs";
import { runCommand } from "./run-command.mjs";
import { Outcome, QUICK, REST } from "./test-phases.mjs";

const PUBLINT_MS = 60_000;
const isRest = process.argv.includes("--rest");
const outcome = new Outcome();

async function prepare() {
  await ensurePackages();
  await (isRest ? ensureBuild() : build());
  const missing = await ensurePrograms();
  if (missing.length === 0) return missing;
  console.log(`\n!!! NOT INSTALLED: ${missing.join(", ")}. The tests that need them are skipped.\n`);
  if (process.env.CI === "true") outcome.add({ passed: 0, failed: missing.length });
  return missing;
}

async function checkPackage() {
  const { ok, output } = await runCommand([process.execPath, "node_modules/publint/src/cli.js", "--strict"], {
    timeoutMs: PUBLINT_MS,
  });
  console.log(ok ? "ok   package" : `FAIL package\n${output}`);
  outcome.add({ passed: Number(ok), failed: Number(!ok), failures: ok ? [] : [output] });
}

async function main() {
  const missing = await outcome.phase("prepare", prepare);
  if (!isRest)
    await outcome.phase("gate", async () => {
      outcome.add(await runGate());
      await checkPackage();
    });
  await outcome.runAll(isRest ? REST : QUICK, { PROCMAN_TEST_MISSING: missing.join(" "), ...(await installProduct()) });
}

endWithNpm();
await main().catch((error) => {
  console.error(error);
  outcome.add({ passed: 0, failed: 1, failures: [String(error)] });
});
outcome.end();
