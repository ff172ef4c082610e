/**
 * A cgroup for each slot: nobody can leave it, so a stop reaches whoever a run has started, wherever that went. Only where
 * procman was given its cgroup to divide (`PROCMAN_CGROUPS=1`), as a spawn takes a third longer that way.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { enterCgroup, ownCgroup, removeCgroup } from "../os/cgroup.ts";

export class Cgroups {
  /** Folder of all slots; undefined: no cgroups here. */
  readonly folder: string | undefined;
  readonly #own: string | undefined;

  /** `name` is unlike that of any other procman on this machine. */
  constructor(name: string, report: (problem: string) => void) {
    const isWanted = process.env.PROCMAN_CGROUPS === "1";
    this.#own = isWanted ? ownCgroup() : undefined;
    this.folder = this.#own === undefined ? undefined : join(this.#own, name);
    if (isWanted && this.folder === undefined)
      report(
        "PROCMAN_CGROUPS is set, but the machine has no cgroup v2 that procman may divide; processes are found by group and environment",
      );
  }

  /** Calls `spawn` from within the cgroup of the slot. */
  within<T>(slot: string, spawn: () => T): T {
    if (this.folder === undefined || this.#own === undefined) return spawn();
    enterCgroup(join(this.folder, slot));
    try {
      return spawn();
    } finally {
      enterCgroup(this.#own);
    }
  }

  remove(): void {
    if (this.folder === undefined) return;
    for (const slot of foldersIn(this.folder)) removeCgroup(slot);
    if (foldersIn(this.folder).length === 0) removeCgroup(this.folder);
  }
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));
  } catch {
    return [];
  }
}
