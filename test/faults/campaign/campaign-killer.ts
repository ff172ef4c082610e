/** The killer of a campaign: SIGKILL and SIGSTOP of procman's parts and of processes, at moments that follow from the seed. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../../programs/run-diary.mjs";
import { type PartName, partsIn } from "../../soak/soak-sampler.ts";
import { kill, marked } from "../../support/marked-processes.ts";
import { isAlive, within } from "../../support/procman-process.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { writeWhole } from "../../support/whole-file.ts";
import type { Campaign } from "./campaign.ts";
import { CLUSTERS, STEADY } from "./campaign-load.ts";
import { command } from "./campaign-operator.ts";

const WEIGHTS = { one: 50, two: 22, everything: 6, halt: 8, process: 8, second: 3, slow: 5 };
const PARTS = { service: 30, keeper: 25, logger: 22, balancer: 10 } as const;
const PAUSES = { short: 20, medium: 45, long: 35 } as const;
const PAUSES_MS: Readonly<Record<keyof typeof PAUSES, readonly [number, number]>> = {
  short: [0, 150],
  medium: [300, 2_000],
  long: [2_000, 4_500],
};
/** A service that ends eleven times in a row within 2 s of its start stays down, by design. */
const SERVICE_LIMIT = 8;
/** When its service and logger live, a keeper is replaced; on a busy machine within this time. Milliseconds. */
const LATE_MS = 12_000;
/** All three parts killed within this time are as if they were killed at once: nobody is left who replaces the keeper. Milliseconds. */
const AT_ONCE_MS = 3_000;
const HALT_MS = [100, 1_800] as const;
/** After that a halted part has noted what happened meanwhile. Milliseconds. */
const RESUMED_MS = 400;
const SLOW_MS = [1_000, 4_000] as const;

/**
 * Whether only the instances have the shared socket: all that could hand it on were killed, or another program has
 * started the next keeper.
 */
export function isSocketLost({ kills, socketSince, isGuarded }: Campaign): boolean {
  const held = kills.filter(({ at }) => at > socketSince);
  return held.some(({ at }) => {
    const together = held.filter((each) => each.at >= at && each.at <= at + AT_ONCE_MS);
    const killed = together.flatMap(({ what }) => what.split(" "));
    return isAll(killed) || (isGuarded && killed.includes("keeper"));
  });
}

/** Nobody is left who replaces the keeper. */
function isAll(killed: readonly string[]): boolean {
  return ["keeper", "service", "logger"].every((part) => killed.includes(part) || killed.includes("everything"));
}

export class CampaignKiller {
  readonly #campaign: Campaign;
  readonly #random: SeededRandom;
  #services = 0;
  /** Slow disks under way. */
  readonly #underWay = new Set<Promise<void>>();

  constructor(campaign: Campaign, random: SeededRandom) {
    this.#campaign = campaign;
    this.#random = random;
  }

  async next(): Promise<void> {
    const random = this.#random;
    await sleep(random.between(...PAUSES_MS[random.weighted(PAUSES)]));
    const { procman, kills } = this.#campaign;
    if (procman.keeper === undefined && monotonicMs() - (kills.at(-1)?.at ?? 0) > AT_ONCE_MS) await this.#revive();
    const kind = random.weighted(WEIGHTS);
    if (kind === "one") this.#kill([this.#part()]);
    else if (kind === "two") await this.#two();
    else if (kind === "everything") await this.#everything();
    else if (kind === "halt") await this.#halt(this.#part());
    else if (kind === "process") this.#process();
    else if (kind === "second") await this.#second();
    else this.#slow();
  }

  /** Resolves when procman is back and answers. */
  async rest(): Promise<void> {
    await Promise.all(this.#underWay);
    const { procman, account, kills } = this.#campaign;
    // While a killed keeper is still there, its service answers, and then resets the next connection.
    await within(AT_ONCE_MS, () => !kills.slice(-2).some(({ pids }) => pids.some((pid) => isAlive(pid))));
    await this.#revive();
    if ((await procman.answered(60_000)) === undefined) account.find("revival", "procman does not answer");
    for (const window of account.windows) window.to = Math.min(window.to, monotonicMs());
  }

  /** A killed keeper is replaced, unless nobody is left who could. */
  async #revive(): Promise<void> {
    const { procman, kills, account } = this.#campaign;
    const last = kills.at(-1)?.at ?? 0;
    const killed = kills.filter(({ at }) => at > last - AT_ONCE_MS).flatMap(({ what }) => what.split(" "));
    const areAllKilled = isAll(killed);
    if ((await within(areAllKilled ? AT_ONCE_MS : LATE_MS, () => procman.keeper)) !== undefined) return;
    if (!areAllKilled) account.find("revival", `no keeper came after the kill of ${killed.join(", ")}`);
    this.#start();
    await procman.answered();
  }

  #part(): PartName {
    const part = this.#random.weighted(PARTS);
    return part === "service" && this.#services >= SERVICE_LIMIT ? "keeper" : part;
  }

  #kill(parts: readonly PartName[], what = parts.join(" ")): readonly number[] {
    const { procman, kills, account } = this.#campaign;
    if (parts.includes("service")) this.#services += 1;
    if (parts.includes("keeper")) this.#services = 0;
    const all = partsIn(marked(procman.mark));
    const pids = parts.flatMap((part) => all[part]).filter((pid) => kill(pid));
    if (pids.length === 0) return pids;
    const end = account.begin("kill", what);
    setTimeout(end, LATE_MS / 4).unref();
    // Until there is a keeper that has another one.
    if (parts.includes("balancer")) void procman.answered(60_000).finally(account.begin("web", what));
    kills.push({ what, at: monotonicMs(), pids });
    account.count("kills", pids.length);
    this.#campaign.note(`kill of ${what}: ${pids.join(" ")}`);
    return pids;
  }

  async #two(): Promise<void> {
    const [one, other] = [this.#part(), this.#part()];
    const gap = this.#random.of([0, 0, this.#random.between(0, 600)]);
    if (gap === 0) this.#kill([...new Set([one, other])]);
    else {
      this.#kill([one]);
      await sleep(gap);
      this.#kill([other]);
    }
  }

  /** As a machine's init or a person would, procman is started again. */
  async #everything(): Promise<void> {
    const { model, procman } = this.#campaign;
    const parts = this.#random.of([
      ["keeper", "service", "logger"],
      ["keeper", "service", "logger", "balancer"],
    ] as const);
    const pids = this.#kill(parts, `everything ${parts.length === 4 ? "balancer" : ""}`.trimEnd());
    model.doubt("share");
    await within(2_000, () => !pids.some((pid) => isAlive(pid)));
    await sleep(this.#random.between(0, 1_500));
    if (procman.keeper === undefined) this.#start();
    await procman.answered();
  }

  async #halt(part: PartName): Promise<void> {
    const { account, procman } = this.#campaign;
    const end = account.begin(part === "balancer" ? "web" : "kill", `halt of ${part}`);
    const pids = partsIn(marked(procman.mark))[part].filter((pid) => kill(pid, "SIGSTOP"));
    account.count("halts", pids.length);
    this.#campaign.note(`halt of ${part}: ${pids.join(" ")}`);
    await sleep(this.#random.between(...HALT_MS));
    for (const pid of pids) kill(pid, "SIGCONT");
    await sleep(RESUMED_MS);
    end();
  }

  #process(): void {
    const { procman, model, account } = this.#campaign;
    const id = this.#random.of([...STEADY, ...Object.keys(CLUSTERS).map((cluster) => `${cluster}-1`)]);
    const running = [...procman.journal.runs].filter(
      ([key, { slot }]) => slot === id && !procman.journal.ends.has(key),
    );
    // The pid of an ended run may belong to another program.
    const ours = new Set(marked(procman.mark).map(({ pid }) => pid));
    model.ended(id);
    for (const [, { pid }] of running) if (ours.has(pid) && kill(pid)) account.count("killed processes");
    this.#campaign.note(`kill of ${id}`);
  }

  /** A second `procman run` is refused, or it is the one that starts after a kill of all. */
  async #second(): Promise<void> {
    const from = monotonicMs();
    const { account } = this.#campaign;
    if (!account.isCalm(from, ["kill", "start"])) return;
    const { code, output } = await command(this.#campaign, ["run", "--detach", "--profile", "campaign"]);
    account.count("second runs");
    if (code !== 1 || !/already running/.test(output)) account.find("second run", `${code} ${output.slice(0, 300)}`);
  }

  #slow(): void {
    const { places, account, slowTimes } = this.#campaign;
    if (this.#underWay.size > 0) return;
    const file = join(places.folder, "slow-disk");
    const [ms, from] = [this.#random.of([2, 10, 30]), monotonicMs()];
    writeWhole(file, String(ms));
    account.count("slow disks");
    this.#campaign.note(`slow disk: ${ms} ms`);
    const span = sleep(this.#random.between(...SLOW_MS)).then(() => {
      rmSync(file);
      slowTimes.push({ from, to: monotonicMs() });
      this.#underWay.delete(span);
    });
    this.#underWay.add(span);
  }

  #start(): void {
    const { procman, account } = this.#campaign;
    account.count("started again");
    this.#campaign.note("procman run");
    procman.start();
  }
}
