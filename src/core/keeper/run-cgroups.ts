/**
 * A cgroup for a slot: no descendant of a run can leave it, so a stop reaches all of them, and their memory and CPU
 * time can be limited together. Only for runs with `memoryMax` or `cpuQuota`, and for all with `PROCMAN_CGROUPS=1`
 * (procman may divide its cgroup), as a spawn takes a third longer.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { CgroupReport, SpawnRequest } from "../ipc/keeper-protocol.ts";
import {
  type Controller,
  capCpu,
  capMemory,
  currentCgroup,
  divide,
  enterCgroup,
  isGiven,
  ownCgroup,
  removeCgroup,
  renewCgroup,
} from "../os/cgroup.ts";
import { hadOomKill } from "../os/oom.ts";
import { warn } from "./log.ts";

const UNLIMITED: Readonly<Record<Controller, (problem: string) => string>> = {
  memory: (problem) =>
    `Cannot enforce "memoryMax" through the kernel: ${problem}; instead memory is checked every second, as with "memoryLimit"`,
  cpu: (problem) => `Cannot enforce "cpuQuota": ${problem}; processes run without this limit`,
};

export class RunCgroups {
  readonly #name: string;
  readonly #report: (report: CgroupReport) => void;
  readonly #isForAll = process.env.PROCMAN_CGROUPS === "1";
  #folder: string | undefined;
  /** Whether this can be limited, once tried. */
  readonly #isDivided = new Map<Controller, boolean>();
  /** Slots whose problem was reported. */
  readonly #reported = new Set<string>();

  /** `name`: unique among all procmans of the machine. */
  constructor(name: string, report: (report: CgroupReport) => void) {
    this.#name = name;
    this.#report = report;
    const own = ownCgroup();
    const folder = own === undefined ? undefined : join(own, name);
    // An earlier keeper may have created it.
    if (folder !== undefined && (this.#isForAll || existsSync(folder))) this.#folder = folder;
    if (this.#isForAll && folder === undefined)
      warn(
        "PROCMAN_CGROUPS is set, but the machine has no cgroup v2 that procman may divide; processes are found by group and environment",
      );
  }

  /** Holds a folder for each slot with a cgroup; undefined: there is none. */
  get folder(): string | undefined {
    return this.#folder;
  }

  /** Calls `spawn` inside the cgroup of the slot, if it gets one. */
  within<T>({ slot, memoryMax, cpuQuota }: SpawnRequest, spawn: () => T): T {
    const caps: ((folder: string) => void)[] = [];
    if (memoryMax !== undefined && this.#canCap("memory")) caps.push((folder) => capMemory(folder, memoryMax));
    if (cpuQuota !== undefined && this.#canCap("cpu")) caps.push((folder) => capCpu(folder, cpuQuota));
    const home = caps.length > 0 || this.#isForAll ? currentCgroup() : undefined;
    if (this.#folder === undefined || home === undefined) return spawn();
    const folder = join(this.#folder, slot);
    if (!this.#attempt(slot, () => renewCgroup(folder)) || !this.#attempt(slot, () => enterCgroup(folder)))
      return spawn();
    try {
      return spawn();
    } finally {
      // The limits are set after the keeper has left: else the kernel might kill the keeper.
      if (this.#attempt(slot, () => enterCgroup(home))) for (const cap of caps) this.#attempt(slot, () => cap(folder));
    }
  }

  /** What the cgroup tells about the end of a run. */
  endOf(slot: string): { readonly outOfMemory?: true } {
    return this.#folder !== undefined && hadOomKill(join(this.#folder, slot)) ? { outOfMemory: true } : {};
  }

  remove(): void {
    if (this.#folder === undefined) return;
    for (const slot of foldersIn(this.#folder)) removeCgroup(slot);
    if (foldersIn(this.#folder).length === 0) removeCgroup(this.#folder);
  }

  /** Tried for the first run that needs it. */
  #canCap(controller: Controller): boolean {
    const known = this.#isDivided.get(controller) ?? this.#divide(controller);
    this.#isDivided.set(controller, known);
    return known;
  }

  #divide(controller: Controller): boolean {
    const problem = this.#problemOfDivision(controller);
    this.#report({
      t: "cgroups",
      ...(this.#folder === undefined ? {} : { folder: this.#folder }),
      ...(problem === undefined ? {} : { problem: UNLIMITED[controller](problem) }),
    });
    return problem === undefined;
  }

  #problemOfDivision(controller: Controller): string | undefined {
    const current = currentCgroup();
    if (current === undefined) return "this machine has no cgroup v2";
    const own = ownCgroup(current);
    if (own === undefined) return `procman's user may not divide the cgroup ${current}`;
    if (!this.#isForAll && !isGiven(current))
      return `the cgroup ${current} may be shared with other programs (PROCMAN_CGROUPS=1 says that it isn't)`;
    const folder = join(own, this.#name);
    try {
      divide(own, folder, controller);
    } catch (error) {
      return (error as Error).message;
    }
    this.#folder = folder;
    return undefined;
  }

  /** Reports a failure instead of throwing: the run starts without a cgroup. */
  #attempt(slot: string, action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      const problem = `Cannot put ${slot} into a cgroup: ${(error as Error).message}; it runs without one`;
      if (!this.#reported.has(slot)) this.#report({ t: "cgroups", problem });
      this.#reported.add(slot);
      return false;
    }
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [join(folder, entry.name)] : [],
    );
  } catch {
    return [];
  }
}
