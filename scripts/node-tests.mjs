/** Finds test files itself (Node 20 takes no glob, and a test run without files ends with 0) and reads node:test's totals. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT, runCommand } from "./run-command.mjs";

/** Tests beside the source whose subject is real files, FIFOs and processes: they take their time, and no build. */
export const REAL = ["src/core/logger", "src/core/log-store", "src/core/file-watcher", "src/telemetry.test.ts"];

/** Tests that need no build and no other program, and are quick. */
export const UNIT = [
  ...["src/core", "src/satellites"].flatMap((ring) => readdirSync(join(ROOT, ring)).map((name) => `${ring}/${name}`)),
  "src/client",
  "src/cli",
  "test/model",
  "test/scripts",
].filter((place) => !REAL.includes(place) && statSync(join(ROOT, place)).isDirectory());

/** The files named, and all *.test.ts below the folders named. */
function findTests(places) {
  return places
    .filter((place) => existsSync(join(ROOT, place)))
    .flatMap((place) => (statSync(join(ROOT, place)).isFile() ? [place] : testsBelow(place)))
    .sort();
}

function testsBelow(folder) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join(folder, file));
}

/** Where the entries of `together` are written. */
const ENTRIES = join(ROOT, ".cache/tests");

/** Where `file-times.mjs` writes how long the tests of each file took. */
const TIMES = join(ROOT, `.cache/times-${process.pid}.json`);

const REPORTERS = [
  "--test-reporter=spec",
  "--test-reporter-destination=stdout",
  "--test-reporter=./scripts/file-times.mjs",
  `--test-reporter-destination=${TIMES}`,
];

/** Many tests wait for a timer or a process: so there are more of them at a time than processors. */
const TOGETHER = 4;

/** One entry for each place, which imports its test files: a process for each file costs more than most of the tests. */
function together(places) {
  rmSync(ENTRIES, { recursive: true, force: true });
  mkdirSync(ENTRIES, { recursive: true });
  return places.flatMap((place) => {
    const files = findTests([place]);
    if (files.length === 0) return [];
    const entry = join(ENTRIES, `${place.replaceAll("/", "-")}.mjs`);
    writeFileSync(
      entry,
      files.map((file) => `import ${JSON.stringify(pathToFileURL(join(ROOT, file)).href)};\n`).join(""),
    );
    return [entry];
  });
}

/** Tests of a place share a process. */
export function runTogether(places, options) {
  return runFiles(together(places), places, { concurrency: TOGETHER, ...options });
}

/**
 * @param {readonly string[]} places
 * @param {{ timeoutMs: number, concurrency?: number, node?: string, env?: Record<string, string>, show?: boolean,
 * except?: readonly string[] }} options
 *   `except`: files of the places that are left out; `timeoutMs`: of all files; one file has three quarters of it, so that a file which hangs leaves time for the others
 * @returns {Promise<{ ok: boolean, output: string, ms: number, why: string, passed: number, failed: number, failures?:
 * string }>}
 */
export function runTests(places, { except = [], ...options }) {
  const files = findTests(places);
  const unknown = except.filter((file) => !existsSync(join(ROOT, file)));
  if (unknown.length > 0) throw new Error(`no such file: ${unknown.join(", ")}`);
  return runFiles(
    files.filter((file) => !except.includes(file)),
    places,
    options,
  );
}

async function runFiles(files, places, { concurrency = 2, node = process.execPath, ...options }) {
  if (files.length === 0)
    return {
      ok: false,
      output: "",
      ms: 0,
      times: {},
      why: `no test file in ${places.join(", ")}`,
      passed: 0,
      failed: 1,
    };
  const limit = `--test-timeout=${options.timeoutMs * 0.75}`;
  const flags = ["--import", "tsx", "--test", ...REPORTERS, `--test-concurrency=${concurrency}`, limit];
  mkdirSync(dirname(TIMES), { recursive: true });
  const result = await runCommand([node, ...flags, ...files], options);
  // A run that was cut off has written none.
  const times = existsSync(TIMES) ? readFileSync(TIMES, "utf8") : "";
  rmSync(TIMES, { force: true });
  return { ...withTotals(result), times: JSON.parse(times || "{}") };
}

/** A run that ended badly has failed at least once, whatever its summary says (a deadline, a crash of the runner). */
function withTotals(result) {
  const passed = total(result.output, "pass");
  const failed = total(result.output, "fail") + total(result.output, "cancelled");
  const ok = result.ok && failed === 0 && passed > 0;
  return { ...result, ok, passed, failed: ok ? 0 : Math.max(failed, 1), failures: failures(result.output) };
}

/** The runner's last section, which says how each failed test failed; the last lines of a run that did not come so far. */
function failures(output) {
  const section = output.lastIndexOf("✖ failing tests:");
  return section === -1 ? output.trimEnd().split("\n").slice(-20).join("\n") : output.slice(section);
}

/** Only the last one counts: a test may print another runner's summary. */
function total(output, name) {
  const found = [...output.matchAll(new RegExp(`^(?:\\x1b\\[\\d+m)?(?:ℹ|#) ${name} (\\d+)`, "gm"))].at(-1);
  return Number(found?.[1] ?? 0);
}
