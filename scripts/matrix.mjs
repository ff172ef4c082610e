/**
 * `npm run matrix [-- --whole] [-- VERSION …]`: the core of the tests, or all of `npm test` and `npm run test:rest`, on
 * several versions of Node.
 * `npm run matrix -- --long [VERSION …] [FILE …]`: the long half on each, as `npm run long`.
 */
import { delimiter, dirname } from "node:path";
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { badUsage, givenOptions } from "./given-options.mjs";
import { prepareLongTests, runLongTests } from "./long-tests.mjs";
import { nodeOf } from "./node-binaries.mjs";
import { runTests } from "./node-tests.mjs";
import { installProduct } from "./packed-product.mjs";
import { runCommand } from "./run-command.mjs";

const MINUTE = 60_000;
const VERSIONS = ["20", "22", "24", "26"];

/** Whatever touches child processes, sockets, signals, files and flags of Node. */
const CORE = [
  "src/core/keeper",
  "src/core/os",
  "test/integration/supervision.test.ts",
  "test/integration/immediate-restart.test.ts",
  "test/integration/api.test.ts",
  "test/integration/service-recovery.test.ts",
  "test/clusters/balancer-process.test.ts",
  "test/clusters/sharing.test.ts",
  "test/clusters/client-count.test.ts",
  "test/clusters/shared-sleep.test.ts",
  "test/clusters/node-drain.test.ts",
  "test/clusters/client-addresses.test.ts",
  "test/integration/logs.test.ts",
  "test/integration/terminal.test.ts",
  "test/integration/process-input.test.ts",
  "test/e2e/installed.test.ts",
  "test/e2e/node-flags.test.ts",
  "test/faults/service-down.test.ts",
  "test/clusters/upgrade-live.test.ts",
  "test/faults/revival.test.ts",
];

const { values, positionals } = givenOptions({
  options: { whole: { type: "boolean", default: false }, long: { type: "boolean", default: false } },
  allowPositionals: true,
});
const named = positionals.filter((each) => /^\d+(\.\d+){0,2}$/.test(each));
const files = positionals.filter((each) => !named.includes(each));
if (values.whole && values.long) badUsage("--whole and --long: give one of them");
if (files.length > 0 && !values.long) badUsage(`${files[0]}: give versions of Node, as 24; files go with --long only`);

async function runCore(node, env) {
  const { passed, failed, output } = await runTests(CORE, { timeoutMs: 20 * MINUTE, concurrency: 1, node, env });
  if (failed > 0) console.log(output);
  return { passed, failed };
}

/** `npm test` and `npm run test:rest` say at their ends how many passed. */
async function runWhole(node, env) {
  const sums = { passed: 0, failed: 0 };
  for (const args of [[], ["--rest"]]) {
    const { ok, output, why } = await runCommand([node, "scripts/test.mjs", ...args], {
      timeoutMs: 60 * MINUTE,
      env,
      show: true,
    });
    const [, passed, failed] = /(\d+) passed, (\d+) failed\s*$/.exec(output) ?? [];
    if (passed === undefined) console.log(`no last line: ${why}`);
    sums.passed += Number(passed ?? 0);
    sums.failed += Math.max(Number(failed ?? 0), ok ? 0 : 1);
  }
  return sums;
}

function runPart(node, env) {
  if (values.whole) return runWhole(node, env);
  return values.long ? runLongTests(files, { node, env }) : runCore(node, env);
}

/** What tells the tests where the product and the programs are. The long half runs `dist/`. */
async function prepare() {
  if (values.whole) return {};
  return values.long ? prepareLongTests() : installProduct();
}

async function run(version, prepared) {
  const node = await nodeOf(version);
  const env = { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const { output } = await runCommand([node, "--version"], { timeoutMs: MINUTE });
  console.log(`\n=== Node ${output.trim()}`);
  const result = await runPart(node, { ...env, ...prepared });
  console.log(`Node ${version}: ${result.passed} passed, ${result.failed} failed`);
  return result;
}

endWithNpm();
const totals = { passed: 0, failed: 0 };
try {
  await ensurePackages();
  await ensureBuild();
  const prepared = await prepare();
  for (const version of named.length > 0 ? named : VERSIONS) {
    const { passed, failed } = await run(version, prepared);
    totals.passed += passed;
    totals.failed += failed;
  }
} catch (error) {
  console.error(error);
  totals.failed += 1;
}
console.log(`\n${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed === 0 ? 0 : 1;
