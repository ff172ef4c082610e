/**
 * `in-systemd.ts SCENARIO [OPTIONS …]`: runs a scenario in a machine of namespaces whose PID 1 is a real systemd, so that
 * all its managers (procman too) run there. Its files are in memory. The results get the prefix `box-`.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, SystemdBox } from "../../test/support/systemd-box.ts";

const TIMEOUT_MS = 30 * 60_000;
const WORK = "/var/tmp/bench";

const [scenario = "", ...options] = process.argv.slice(2);
const results = process.env.BENCH_RESULTS ?? join(import.meta.dirname, "../results");
const box = await SystemdBox.boot();
try {
  const env = { BENCH_WORK: WORK, BENCH_RESULTS: `${WORK}/results`, BENCH_LABEL: "box-" };
  const { code, out, err } = await box.run(`${CHECKOUT}/bench/run.sh ${[scenario, ...options].join(" ")}`, env, TIMEOUT_MS);
  process.stderr.write(err);
  process.stdout.write(out);
  mkdirSync(results, { recursive: true });
  appendFileSync(join(results, `box-${scenario}.jsonl`), out);
  process.exitCode = code ?? 1;
} finally {
  await box.close();
}
