/** `npm run long [-- FILE or FOLDER …]`: the tests in `test/long`, one at a time: those that take long, or run as other users. */
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { prepareLongTests, runLongTests } from "./long-tests.mjs";

async function main() {
  await ensurePackages();
  await ensureBuild();
  return runLongTests(process.argv.slice(2), { env: await prepareLongTests() });
}

endWithNpm();
const { passed, failed } = await main().catch((error) => {
  console.error(error);
  return { passed: 0, failed: 1 };
});
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
