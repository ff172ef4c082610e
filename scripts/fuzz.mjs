/**
 * `npm run fuzz [-- TARGET …] [--minutes N] [--seed N] [--input FILE]`: gives procman's readers odd input
 * (`test/fuzz`), each target for so many minutes (default: 0.1). An input that does harm is kept in `results/fuzz`.
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { badUsage, givenOptions } from "./given-options.mjs";
import { ROOT } from "./run-command.mjs";

const FOLDER = join(ROOT, "results/fuzz");
/** A case that lasts longer hangs. Milliseconds. */
const HANG_MS = 60_000;
const CHECK_MS = 1_000;

const { values, positionals } = givenOptions({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "0.1" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    input: { type: "string" },
  },
});
const seconds = Number(values.minutes) * 60;
const { seed } = values;
if (!(seconds > 0)) badUsage(`--minutes ${values.minutes}: give a number above 0`);
if (!/^\d+$/.test(seed)) badUsage(`--seed ${seed}: give a whole number`);

const NAMES = [...readFileSync(join(ROOT, "test/fuzz/targets.ts"), "utf8").matchAll(/^ {2}"?([a-z-]+)"?: async/gm)].map(
  ([, name]) => name,
);
const unknown = positionals.find((name) => !NAMES.includes(name));
if (unknown !== undefined) badUsage(`${unknown}: there is no such target; there are ${NAMES.join(", ")}`);
if (values.input !== undefined && positionals.length !== 1)
  badUsage("--input: name the one target that reads the file");

/** Resolves with why the cases of a target ended badly; undefined: they did not. */
function run(target, args, progress) {
  const argv = ["--import", "tsx", "test/fuzz/run-target.ts", `--target=${target}`, `--seed=${seed}`, ...args];
  const child = spawn(process.execPath, argv, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
  let seen = "";
  let since = performance.now();
  let hangs = false;
  const timer = setInterval(() => {
    const now = progress === undefined ? "" : readFileSync(progress, "utf8");
    if (now !== seen) {
      seen = now;
      since = performance.now();
    }
    hangs = performance.now() - since > HANG_MS;
    if (hangs) child.kill("SIGKILL");
  }, CHECK_MS);
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      clearInterval(timer);
      resolve(hangs ? "it hangs" : code === 0 ? undefined : `it ended with ${signal ?? `code ${code}`}`);
    });
  });
}

/** True if nothing was found. */
async function fuzz(target) {
  const progress = join(FOLDER, `${target}.progress`);
  writeFileSync(progress, "");
  console.log(`${target}: ${seconds} s, seed ${seed}`);
  const problem = await run(target, [`--seconds=${seconds}`, `--progress=${progress}`], progress);
  if (problem === undefined) return true;
  const number = readFileSync(progress, "utf8") || "0";
  const file = join(FOLDER, `${target}-${seed}-${number}`);
  await run(target, [`--case=${number}`, `--write=${file}`]);
  console.log(`FAIL ${target}: ${problem} at case ${number}. Its input is in ${file}.`);
  console.log(`     To repeat it: npm run fuzz -- ${target} --input ${file}`);
  console.log(`     With all cases before it: npm run fuzz -- ${target} --seed ${seed} --minutes ${values.minutes}`);
  return false;
}

async function main() {
  await ensurePackages();
  await ensureBuild();
  mkdirSync(FOLDER, { recursive: true });
  if (values.input !== undefined) return (await run(positionals[0], [`--input=${values.input}`])) === undefined;
  const failed = [];
  for (const target of positionals.length > 0 ? positionals : NAMES) if (!(await fuzz(target))) failed.push(target);
  console.log(failed.length === 0 ? "no harm was found" : `harm was found: ${failed.join(", ")}`);
  return failed.length === 0;
}

endWithNpm();
process.exitCode = (await main()) ? 0 : 1;
