/** Runs folders of tests on the packed product, one after the other, and ends with the line `N passed, N failed`. */
import { runTests } from "./node-tests.mjs";

const MINUTE = 60_000;
const SLOWEST = 20;

/** Files of the folders below that take longest: they wait for what comes every ten seconds, or go many ways in turn. */
const SLOW = [
  "test/e2e/control.test.ts",
  "test/e2e/deploy-command.test.ts",
  "test/e2e/exec-command.test.ts",
  "test/e2e/first-hour.test.ts",
  "test/e2e/reload-command.test.ts",
  "test/e2e/started.test.ts",
  "test/e2e/typescript.test.ts",
  "test/integration/api-group.test.ts",
  "test/integration/auto-ports.test.ts",
  "test/integration/incidents-and-metrics.test.ts",
  "test/integration/plugins.test.ts",
  "test/integration/service-recovery.test.ts",
  "test/integration/watch.test.ts",
];

/** What a contributor waits for. Two files at a time: more neighbours on two cores make each other late. */
export const QUICK = [
  { folder: "src/core/logger", timeoutMs: 5 * MINUTE },
  { folder: "src/core/log-store", timeoutMs: 5 * MINUTE },
  { folder: "src/core/file-watcher", timeoutMs: 5 * MINUTE },
  { folder: "src/telemetry.test.ts", timeoutMs: 2 * MINUTE },
  { folder: "test/integration", except: SLOW, timeoutMs: 12 * MINUTE },
  { folder: "test/e2e", except: SLOW, timeoutMs: 12 * MINUTE },
];

/** What takes longer. The dashboard and the pages have time limits, or run side by side themselves. */
export const REST = [
  { name: "slow files", places: SLOW, timeoutMs: 8 * MINUTE },
  { folder: "test/model-wide", timeoutMs: 8 * MINUTE },
  { folder: "test/clusters", timeoutMs: 12 * MINUTE },
  { folder: "test/load", timeoutMs: 12 * MINUTE },
  { folder: "test/places", timeoutMs: 5 * MINUTE },
  { folder: "test/satellites", timeoutMs: 12 * MINUTE },
  { folder: "test/boot", timeoutMs: 8 * MINUTE },
  { folder: "test/dashboard", timeoutMs: 5 * MINUTE, concurrency: 1 },
  { folder: "test/pages", timeoutMs: 10 * MINUTE, concurrency: 1 },
  { folder: "test/faults", timeoutMs: 15 * MINUTE },
];

/** What has passed and failed, how long each phase took, and the times of files. */
export class Outcome {
  #passed = 0;
  #failed = 0;
  #failures = [];
  #phases = [];
  #files = [];

  add({ passed, failed, failures = [] }) {
    this.#passed += passed;
    this.#failed += failed;
    this.#failures.push(...failures);
  }

  /** Runs `work` as a phase with this name. */
  async phase(name, work) {
    console.log(`\n=== ${name}`);
    const began = performance.now();
    try {
      return await work();
    } finally {
      this.#phases.push([name, performance.now() - began]);
    }
  }

  async runAll(phases, env) {
    for (const { folder, name = folder, places = [folder], ...options } of phases)
      await this.phase(name, () => this.#run(name, places, { ...options, env }));
  }

  async #run(name, places, options) {
    const { ok, passed, failed, why, failures, times } = await runTests(places, { ...options, show: true });
    this.#files.push(...Object.entries(times));
    if (ok) return this.add({ passed, failed });
    const verdict = `FAIL ${name}: ${why}`;
    console.log(verdict);
    this.add({ passed, failed, failures: [`${verdict}\n${failures}`] });
  }

  /** Prints the report. What failed comes again at the end: who reads only the last lines of a long log sees it. */
  end() {
    const slowest = this.#files.sort(([, one], [, other]) => other - one).slice(0, SLOWEST);
    console.log(`\n=== phases\n${this.#phases.map(timeLine).join("\n")}`);
    if (slowest.length > 0) console.log(`\n=== slowest files\n${slowest.map(timeLine).join("\n")}`);
    if (this.#failures.length > 0) console.log(`\n=== what failed\n${this.#failures.join("\n\n")}`);
    console.log(`\n${this.#passed} passed, ${this.#failed} failed`);
    process.exitCode = this.#failed === 0 ? 0 : 1;
  }
}

function timeLine([name, ms]) {
  return `${(ms / 1_000).toFixed(1).padStart(7)} s  ${name}`;
}
