/**
 * `npm run bench [-- --quick]`: procman beside its peers, then docs/design/benchmarks.md. `--only 05-logs,07-status`:
 * these scenarios alone; of the others the page keeps what bench/results.json has.
 * `--report`: the page alone; `--report --check` (the gate): whether the page, and what others claim, is that of
 * bench/results.json.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { busyPercent } from "../bench/lib/busy.mjs";
import { RUNS } from "../bench/plan.mjs";
import { files, MAX_BUSY_PERCENT, unfit, wrongClaims } from "../bench/report.mjs";
import { ensureBuild, ensurePackages, ensurePrograms } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { badUsage, givenOptions } from "./given-options.mjs";
import { ROOT, runCommand } from "./run-command.mjs";

const MINUTE = 60_000;
const PM2 = "7.0.4";
const RAW = join(ROOT, "bench/results");
const RESULTS = join(ROOT, "bench/results.json");

const flag = { type: "boolean", default: false };
const {
  quick: isQuick,
  report: isReport,
  check: isCheck,
  only: named,
} = givenOptions({ options: { quick: flag, report: flag, check: flag, only: { type: "string" } } }).values;
const only = named?.split(",");
const unknown = only?.find((name) => !RUNS.some(({ scenario }) => scenario === name));
if (unknown !== undefined)
  badUsage(
    `--only ${unknown}: there is no such scenario; there are ${[...new Set(RUNS.map(({ scenario }) => scenario))].join(", ")}`,
  );
if (isCheck && !isReport) badUsage("--check goes with --report; nothing is measured then");
if (isReport && !existsSync(RESULTS))
  badUsage("--report: there is no bench/results.json yet; run `npm run bench` first");

/** The first line of what a program says of its version; undefined: it isn't there. */
async function versionOf(argv, pattern = /\d+(?:\.\d+)+/) {
  const { output } = await runCommand(argv, { timeoutMs: MINUTE });
  return pattern.exec(output)?.[0];
}

const readResults = () => JSON.parse(readFileSync(RESULTS, "utf8"));

async function ensurePm2() {
  const folder = join(ROOT, "bench/peers/pm2");
  if (existsSync(join(folder, "node_modules/pm2"))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), "{}");
  const argv = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", `pm2@${PM2}`];
  const { ok, output } = await runCommand(argv, { timeoutMs: 5 * MINUTE });
  if (!ok) console.error(`pm2 can't be installed, and is left out: ${output.trim().split("\n").at(-1)}`);
}

/**
 * The page is of a procman that has run before on this machine: V8's compiled code is kept at the first run, and proven
 * at the second.
 */
async function ensureCompiledCode() {
  const folder = mkdtempSync(join(tmpdir(), "procman-bench-"));
  const config = join(folder, "procman.json");
  writeFileSync(config, JSON.stringify({ name: "bench", processes: [{ id: "sleep", cmd: "sleep 2", task: true }] }));
  const argv = [process.execPath, join(ROOT, "dist/procman.cjs"), "run", "--once", "sleep", "--config", config];
  for (let run = 0; run < 2; run++) await runCommand(argv, { timeoutMs: MINUTE });
  rmSync(folder, { recursive: true });
  const kept = readdirSync(join(ROOT, "dist/cache"));
  for (const part of ["keeper-main.cjs", "service-main.cjs"])
    if (!kept.some((name) => name.startsWith(part) && !/\.(new|trial)$/.test(name)))
      throw new Error(`dist/cache has no compiled code of ${part}: it has ${kept.join(", ") || "nothing"}`);
}

/** The name of a run's results. */
const labelOf = ({ scenario, box }) => `${box ? "box-" : ""}${scenario}`;

/** Resolves with whether it has ended well; what others have measured is kept. */
async function runScenario({ scenario, box, options, quick }) {
  const all = Object.entries({ ...options, ...(isQuick ? quick : {}) }).flatMap(([name, value]) => [
    `--${name}`,
    String(value),
  ]);
  console.log(`\n=== ${scenario} ${all.join(" ")}${box ? " (in a machine of systemd)" : ""}`);
  const env = { BENCH_RESULTS: RAW };
  const argv = box ? [process.execPath, "--import", "tsx", "bench/lib/in-systemd.ts"] : ["bash", "bench/run.sh"];
  const { ok, why } = await runCommand([...argv, scenario, ...all], {
    timeoutMs: 60 * MINUTE,
    env,
    show: true,
  });
  if (ok) return true;
  console.error(`${scenario} has failed (${why}): the page keeps its former figures`);
  rmSync(join(RAW, `${labelOf({ scenario, box })}.jsonl`), { force: true });
  process.exitCode = 1;
  return false;
}

/** The last line of each scenario and manager of this run. */
function collected() {
  const scenarios = {};
  for (const name of readdirSync(RAW).sort())
    for (const line of readFileSync(join(RAW, name), "utf8").trim().split("\n")) {
      const { scenario, manager, ...metrics } = JSON.parse(line);
      scenarios[scenario] = { ...scenarios[scenario], [manager]: metrics };
    }
  return scenarios;
}

/** Over all runs. */
function calibration(scenarios) {
  const all = Object.values(scenarios).flatMap((managers) =>
    Object.values(managers).flatMap(({ calibMs }) => (calibMs?.median ? [calibMs] : [])),
  );
  const middle = all.map(({ median }) => median).sort((a, b) => a - b)[Math.floor(all.length / 2)];
  return {
    n: all.length,
    median: middle,
    min: Math.min(...all.map(({ min }) => min)),
    max: Math.max(...all.map(({ max }) => max)),
  };
}

async function machine(scenarios) {
  const [{ model = "" } = {}, ...others] = cpus();
  const dpkg = (name) => versionOf(["dpkg-query", "--show", "--showformat=${Version}", name], /^[\d.]+/);
  const versions = { pm2: existsSync(join(ROOT, "bench/peers/pm2/node_modules/pm2")) ? PM2 : undefined };
  for (const [name, part] of Object.entries({
    supervisor: "supervisor",
    runit: "runit",
    s6: "s6",
    haproxy: "haproxy",
    nginx: "nginx",
    systemd: "systemd",
  }))
    versions[name] = await dpkg(part);
  return {
    cpus: others.length + 1,
    model: model.replace(/\s+/g, " "),
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    kernel: release().split("-")[0],
    node: process.versions.node,
    open: Number(await versionOf(["sh", "-c", "ulimit -n 65536 2>/dev/null; ulimit -n"], /\d+/)),
    versions: Object.fromEntries(Object.entries(versions).filter(([, version]) => version !== undefined)),
    calibration: calibration(scenarios),
  };
}

async function main() {
  if (!isReport) await measure();
  const results = readResults();
  const read = (path) => readFileSync(join(ROOT, path), "utf8");
  const made = Object.entries(files(results));
  if (isCheck) {
    const old = made
      .filter(([path, text]) => read(path) !== text)
      .map(([path]) => `${path}: not up to date; npm run bench -- --report`);
    const problems = [...old, ...wrongClaims(results, read)];
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length === 0 ? 0 : 1;
    return;
  }
  for (const [path, text] of made) writeFileSync(join(ROOT, path), text);
  for (const problem of wrongClaims(results, read)) console.error(problem);
  const busy = unfit(results);
  if (busy.length > 0) console.error(`Not fit for publication, other work ran on the machine: ${busy.join(", ")}`);
  console.log("docs/design/benchmarks.md is made");
}

async function measure() {
  await ensurePackages();
  await ensureBuild();
  // The second name leads from a folder of programs to nginx's module.
  await ensurePrograms({ wrk: "wrk", "../lib/nginx/modules/ngx_stream_module.so": "libnginx-mod-stream" });
  await ensurePm2();
  await ensureCompiledCode();
  rmSync(RAW, { recursive: true, force: true });
  mkdirSync(RAW);
  const busy = await busyPercent(3000);
  if (busy > MAX_BUSY_PERCENT)
    console.error(
      `The machine is busy: other work uses ${busy.toFixed(0)} % of its processors. End it and start again; otherwise the page says that its figures are not fit for publication.`,
    );
  const runs = RUNS.filter(({ scenario }) => only?.includes(scenario) ?? true);
  const done = [];
  for (const run of runs) if (await runScenario(run)) done.push(run);
  const known = existsSync(RESULTS) ? readResults() : undefined;
  const scenarios = { ...known?.scenarios, ...collected() };
  const now = {
    date: new Date().toISOString().slice(0, 10),
    commit: await versionOf(["git", "rev-parse", "--short", "HEAD"], /\w+/),
  };
  const measured = { ...known?.measured, ...Object.fromEntries(done.map((run) => [labelOf(run), now])) };
  writeFileSync(
    RESULTS,
    `${JSON.stringify({ machine: await machine(scenarios), measured, scenarios }, undefined, 1)}\n`,
  );
}

endWithNpm();
await main();
