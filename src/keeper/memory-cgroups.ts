/**
 * A cgroup for a slot: nobody can leave it, so a stop reaches whoever a run has started, wherever that went, and all of them
 * together can be held to an amount of memory. Only for runs with such a limit, and for all where procman was given its cgroup
 * to divide (`PROCMAN_CGROUPS=1`), as a spawn takes a third longer that way.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { CgroupReport, SpawnRequest } from "../ipc/keeper-protocol.ts";
import { capMemory, currentCgroup, divideMemory, enterCgroup, isGiven, ownCgroup, removeCgroup, renewCgroup } from "../os/cgroup.ts";
import { hadOomKill } from "../os/oom.ts";
import { warn } from "./log.ts";

export class MemoryCgroups {
  readonly #name: string;
  readonly #tell: (word: CgroupReport) => void;
  readonly #isForAll = process.env.PROCMAN_CGROUPS === "1";
  #folder: string | undefined;
  /** Whether memory can be limited; undefined: nobody has wanted that. */
  #isDivided: boolean | undefined;
  /** Slots of which a problem was told. */
  readonly #told = new Set<string>();

  /** `name` is unlike that of any other procman on this machine. */
  constructor(name: string, tell: (word: CgroupReport) => void) {
    this.#name = name;
    this.#tell = tell;
    const own = ownCgroup();
    const folder = own === undefined ? undefined : join(own, name);
    // An earlier keeper may have begun to use it.
    if (folder !== undefined && (this.#isForAll || existsSync(folder))) this.#folder = folder;
    if (this.#isForAll && folder === undefined)
      warn(
        "PROCMAN_CGROUPS is set, but the machine has no cgroup v2 that procman may divide; processes are found by group and environment",
      );
  }

  /** Has a folder for each slot that has a cgroup; undefined: none has. */
  get folder(): string | undefined {
    return this.#folder;
  }

  /** Calls `spawn` from within the cgroup of the slot, if that is to have one. */
  within<T>({ slot, memoryMax }: SpawnRequest, spawn: () => T): T {
    const isCapped = memoryMax !== undefined && this.#canCap();
    const home = isCapped || this.#isForAll ? currentCgroup() : undefined;
    if (this.#folder === undefined || home === undefined) return spawn();
    const folder = join(this.#folder, slot);
    if (!this.#could(slot, () => renewCgroup(folder)) || !this.#could(slot, () => enterCgroup(folder))) return spawn();
    try {
      return spawn();
    } finally {
      // With its limit while the keeper is in there, the kernel might choose the keeper.
      if (this.#could(slot, () => enterCgroup(home)) && isCapped) this.#could(slot, () => capMemory(folder, memoryMax));
    }
  }

  /** What its cgroup tells of the end of a run. */
  endOf(slot: string): { readonly outOfMemory?: true } {
    return this.#folder !== undefined && hadOomKill(join(this.#folder, slot)) ? { outOfMemory: true } : {};
  }

  remove(): void {
    if (this.#folder === undefined) return;
    for (const slot of foldersIn(this.#folder)) removeCgroup(slot);
    if (foldersIn(this.#folder).length === 0) removeCgroup(this.#folder);
  }

  /** Found out for the first who wants it. */
  #canCap(): boolean {
    this.#isDivided ??= this.#divide();
    return this.#isDivided;
  }

  #divide(): boolean {
    const problem = this.#problemOfDivision();
    this.#tell({
      t: "cgroups",
      ...(this.#folder === undefined ? {} : { folder: this.#folder }),
      ...(problem === undefined
        ? {}
        : {
            problem: `Cannot hold runs to "memoryMax" by the kernel: ${problem}; instead they are looked at each second, as with "memoryLimit"`,
          }),
    });
    return problem === undefined;
  }

  #problemOfDivision(): string | undefined {
    const current = currentCgroup();
    if (current === undefined) return "this machine has no cgroup v2";
    const own = ownCgroup(current);
    if (own === undefined) return `procman's user may not divide the cgroup ${current}`;
    if (!this.#isForAll && !isGiven(current))
      return `the cgroup ${current} is perhaps not procman's alone (PROCMAN_CGROUPS=1 says that it is)`;
    const folder = join(own, this.#name);
    try {
      divideMemory(own, folder);
    } catch (error) {
      return (error as Error).message;
    }
    this.#folder = folder;
    return undefined;
  }

  /** A run without its cgroup is better than none. */
  #could(slot: string, action: () => void): boolean {
    try {
      action();
      return true;
    } catch (error) {
      const problem = `Cannot keep ${slot} in a cgroup of its own: ${(error as Error).message}; it runs without`;
      if (!this.#told.has(slot)) this.#tell({ t: "cgroups", problem });
      this.#told.add(slot);
      return false;
    }
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));
  } catch {
    return [];
  }
}
