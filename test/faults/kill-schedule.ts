/** Kills and upgrades procman at moments that follow from a seed, while its children print, crash and are started and stopped. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Procman } from "../../examples/kill-the-manager/managers/procman.mjs";
import { kill, marked } from "../../examples/kill-the-manager/processes.mjs";
import { monotonicMs } from "../../examples/kill-the-manager/programs/instance.mjs";
import type { ProcessRecord } from "../../src/contract/records.ts";
import { BIN } from "../support/product.ts";
import { clusterIn, loadIn, OPERATED, PROFILE, profilesOf } from "./fault-load.ts";
import { type OperatorReport, runClusterOperator, runOperator } from "./operator.ts";
import { SeededRandom } from "./seeded-random.ts";

/** What is killed together, with its weight. */
const WEIGHTS = {
  service: 30,
  logger: 26,
  keeper: 14,
  "service logger": 7,
  "keeper service": 6,
  "keeper logger": 6,
  everything: 5,
  child: 12,
  upgrade: 8,
} as const;

/** Children that may be killed, and the signals. */
const VICTIMS = ["print", "print-rotated", "crash-slow", "toy-plain", "timeout"] as const;
const SIGNALS = ["SIGKILL", "SIGSEGV", "SIGTERM"] as const;

/** A service that ends eleven times in a row within 2 s of its start stays down, by design. */
const SERVICE_LIMIT = 9;
/** Of the cluster, in the first configuration. */
const INSTANCES = 2;
/** After this time no successor starts by itself, and the test starts procman again. Milliseconds. */
const LATE_MS = 1_200;

export type Kill = { readonly what: string; readonly at: number; readonly pids: readonly number[] };

export type Scenario = {
  readonly procman: Procman;
  readonly kills: readonly Kill[];
  readonly operatorReports: readonly OperatorReport[];
  /** How often the test had to start procman again. */
  readonly restartsByTest: number;
  /** How often the parts were upgraded, wholly or until a kill. */
  readonly upgrades: number;
  /** All records after the last kill. */
  readonly settled: readonly ProcessRecord[] | undefined;
};

/** Resolves once procman has settled after the last of `wanted` kills. */
export async function runScenario(folder: string, seed: number, wanted: number): Promise<Scenario> {
  const random = new SeededRandom(seed);
  const config = (instances: number) => ({ profiles: profilesOf(), processes: [...loadIn(folder), clusterIn(folder, instances)] });
  const procman = new Procman({ folder, bin: BIN, args: ["--profile", PROFILE], ...config(INSTANCES), config: { profiles: profilesOf() } });
  procman.start();
  const first = await procman.answered();
  if (first === undefined) throw new Error("procman does not start");
  const killer = new Killer(procman, random);
  let over = false;
  const isOver = (): boolean => over;
  const guard = killer.guard(isOver);
  const optionsOf = (index: number) => ({ procman, random: new SeededRandom(seed + index + 1), isOver });
  const write = (instances: number): void => writeConfig(folder, { name: "load", ...config(instances) });
  const operators = [
    ...OPERATED.map((id, index) => runOperator(id, optionsOf(index))),
    runClusterOperator({ ...optionsOf(OPERATED.length), instances: INSTANCES, write }),
  ];
  while (killer.count < wanted) await killer.next();
  await killer.upgradesEnd();
  await procman.answered();
  over = true;
  const operatorReports = await Promise.all(operators);
  await guard;
  const settled = (await procman.answered()) as readonly ProcessRecord[] | undefined;
  return { procman, kills: killer.kills, operatorReports, restartsByTest: killer.restartsByTest, upgrades: killer.upgrades, settled };
}

/** At once and whole: a service may start at any moment. */
function writeConfig(folder: string, config: object): void {
  const draft = join(folder, "procman.draft");
  writeFileSync(draft, JSON.stringify(config, undefined, 2));
  renameSync(draft, join(folder, "procman.json"));
}

class Killer {
  readonly kills: Kill[] = [];
  restartsByTest = 0;
  upgrades = 0;
  readonly #underWay = new Set<Promise<number>>();
  readonly #procman: Procman;
  readonly #random: SeededRandom;
  #services = 0;

  constructor(procman: Procman, random: SeededRandom) {
    this.#procman = procman;
    this.#random = random;
  }

  /** Number of killed processes. */
  get count(): number {
    return this.kills.reduce((sum, { pids }) => sum + pids.length, 0);
  }

  /** Waits for a random time, within the last transition or after it, and kills something. */
  async next(): Promise<void> {
    const gap = this.#random.weighted({ none: 10, short: 30, medium: 45, long: 15 });
    const [from, to] = { none: [0, 5], short: [5, 120], medium: [120, 600], long: [600, 2_500] }[gap] as [number, number];
    await sleep(this.#random.between(from, to));
    const chosen = this.#random.weighted(WEIGHTS);
    const what = this.#services >= SERVICE_LIMIT && /service/.test(chosen) ? "keeper" : chosen;
    if (/service/.test(what)) this.#services += 1;
    if (/keeper|everything/.test(what)) this.#services = 0;
    if (what === "child") return this.#killChild();
    if (what === "upgrade") return this.#upgrade();
    const at = monotonicMs();
    const parts = what === "everything" ? (["everything"] as const) : (what.split(" ") as ("keeper" | "service" | "logger")[]);
    const pids = parts.flatMap((part) => this.#procman.kill(part));
    if (pids.length > 0) this.kills.push({ what, at, pids });
  }

  /** Resolves when no upgrade is under way. */
  async upgradesEnd(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Begins an upgrade to the same version; what is killed meanwhile may make it fail. */
  #upgrade(): void {
    if (this.#underWay.size > 0 || this.#procman.keeper === undefined) return;
    this.upgrades += 1;
    const upgrade = this.#procman.upgrade();
    this.#underWay.add(upgrade);
    void upgrade.finally(() => this.#underWay.delete(upgrade));
  }

  #killChild(): void {
    const id = this.#random.of(VICTIMS);
    const signal = this.#random.of(SIGNALS);
    const { journal, mark } = this.#procman;
    const running = [...journal.runs].filter(([key, { slot }]) => slot === id && !journal.ends.has(key)).map(([, { pid }]) => pid);
    // The pid of an ended child may belong to another program.
    const ours = new Set(marked(mark).map(({ pid }) => pid));
    for (const pid of running.filter((each) => ours.has(each))) kill(pid, signal);
  }

  /** Starts procman again when no successor comes. */
  async guard(isOver: () => boolean): Promise<void> {
    let since: number | undefined;
    while (!isOver()) {
      await sleep(20);
      since = this.#procman.keeper === undefined ? (since ?? monotonicMs()) : undefined;
      if (since === undefined || monotonicMs() - since < LATE_MS) continue;
      this.restartsByTest += 1;
      this.#procman.start();
      since = undefined;
    }
  }
}
