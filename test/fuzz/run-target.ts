/**
 * Runs cases of one target in this process, which may crash or hang of it: `scripts/fuzz.mjs` watches it, and reads in
 * the file
 * `--progress` which case it was. `--case N --write FILE` writes the input of a case, `--input FILE` checks the input
 * of a file.
 */
import { openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { SeededRandom } from "../support/seeded-random.ts";
import type { FuzzTarget } from "./fuzz-target.ts";
import { TARGETS } from "./targets.ts";

/** CPU time of a case, which calls several functions. Milliseconds; waits for other processes don't count. */
const LIMIT_MS = 3_000;

const { values: options } = parseArgs({
  options: Object.fromEntries(
    ["target", "seed", "seconds", "progress", "case", "write", "input"].map((name) => [
      name,
      { type: "string", default: "" },
    ]),
  ) as Readonly<Record<string, { readonly type: "string"; readonly default: string }>>,
});
const { target: name = "", seed, seconds, progress = "", case: number, write, input } = options;

function inputOf(target: FuzzTarget, of: number): Buffer {
  return target.input(new SeededRandom(Number(seed) ^ Math.imul(of, 0x9e3779b1)));
}

async function checkInTime(target: FuzzTarget, bytes: Buffer): Promise<void> {
  const before = process.cpuUsage();
  await target.check(bytes);
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1_000;
  if (ms > LIMIT_MS) throw new Error(`takes ${Math.round(ms)} ms of CPU time; allowed: ${LIMIT_MS}`);
}

async function runCases(target: FuzzTarget): Promise<void> {
  const file = openSync(progress, "w");
  // The first one loads code.
  await target.check(inputOf(target, 0));
  let count = 1;
  for (const end = performance.now() + Number(seconds) * 1_000; performance.now() < end; count += 1) {
    writeSync(file, String(count), 0);
    await checkInTime(target, inputOf(target, count));
  }
  console.log(`${name}: ${count} cases`);
}

const open = TARGETS[name];
if (open === undefined)
  throw new Error(`There is no target ${JSON.stringify(name)}; there are ${Object.keys(TARGETS).join(", ")}.`);
const target = await open();
try {
  if (write) writeFileSync(write, inputOf(target, Number(number)));
  else if (input) await checkInTime(target, readFileSync(input));
  else await runCases(target);
} finally {
  await target.close?.();
}
// Timers and servers of the target may be left.
process.exit(0);
