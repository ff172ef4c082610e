/** The gate: everything that can be said about the source without building it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { runTogether, UNIT } from "./node-tests.mjs";
import { ROOT, runCommand } from "./run-command.mjs";

const STEP_TIMEOUT_MS = 480_000;
const LANES = 2;

const tool = (script, ...args) => [process.execPath, `node_modules/${script}`, ...args];
const script = (file, ...args) => [process.execPath, "--import", "tsx", file, ...args];

/** The long ones first, so that the lanes end together. */
const STEPS = [
  { name: "unit tests", tests: UNIT },
  { name: "types, promises", argv: [process.execPath, "scripts/check-types.mjs"] },
  { name: "expressions", argv: script("scripts/check-expressions.ts", "src") },
  { name: "unused", argv: tool("knip/bin/knip.js", "--no-progress", "--no-config-hints") },
  { name: "layers", argv: script("scripts/check-layers.ts", "src") },
  { name: "house", argv: script("scripts/check-house.ts", "src") },
  { name: "schema", argv: script("scripts/schema.ts", "--check"), onlyWith: "scripts/schema.ts" },
  { name: "api docs", argv: script("scripts/api-docs.ts", "--check"), onlyWith: "scripts/api-docs.ts" },
  { name: "benchmarks", argv: [process.execPath, "scripts/bench.mjs", "--report", "--check"] },
  { name: "autoscale", argv: script("scripts/autoscale.ts", "--check") },
  { name: "reference", argv: script("scripts/reference.ts", "--check") },
  {
    name: "format and lint",
    argv: tool("@biomejs/biome/bin/biome", "check", "--error-on-warnings", "--max-diagnostics=30", "."),
  },
];

/** Runs every step, also after one has failed: one look shows all there is to do. `failures` says of each step how it failed. */
export async function runGate() {
  const waiting = STEPS.filter(({ onlyWith }) => onlyWith === undefined || existsSync(join(ROOT, onlyWith)));
  const results = [];
  const lane = async () => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) results.push(await run(step));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failed: results.reduce((sum, { failed }) => sum + failed, 0),
    failures: results.flatMap(({ failures }) => failures ?? []),
  };
}

async function run({ name, tests, argv }) {
  const timeoutMs = STEP_TIMEOUT_MS;
  const result = tests
    ? await runTogether(tests, { timeoutMs })
    : await runCommand(argv, { timeoutMs, env: { NO_COLOR: "1" } });
  const { ok, ms, why, output, passed = Number(ok), failed = Number(!ok) } = result;
  const counts = tests ? `  ${passed} passed, ${failed} failed` : "";
  console.log(
    `${ok ? "ok  " : "FAIL"} ${name.padEnd(16)} ${(ms / 1000).toFixed(1).padStart(5)} s${counts}${ok ? "" : `  (${why})`}`,
  );
  if (ok) return { passed, failed };
  console.log(indent(output));
  return { passed, failed, failures: `${name}: ${why}\n${result.failures ?? output}` };
}

function indent(text) {
  return text.trimEnd().replace(/^/gm, "     | ");
}
