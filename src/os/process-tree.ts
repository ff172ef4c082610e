/** Assigns processes to runs: members of the run's session or group, descendants, and processes with its marker variable. */
import { allEnvironments, type ProcessStat, processEnvironment, processStat } from "./process-stat.ts";
import type { ProcessUsage } from "./process-usage.ts";

/** The owner of each process that has one. `roots`: owners by the pid of the run's leader. */
export function ownersOf(
  usages: readonly ProcessUsage[],
  roots: ReadonlyMap<number, string>,
  marked: (usage: ProcessUsage) => string | undefined,
): ReadonlyMap<ProcessUsage, string> {
  const byPid = new Map(usages.map((usage) => [usage.pid, usage]));
  const known = new Map<ProcessUsage, string | undefined>();
  const ownerOf = (usage: ProcessUsage): string | undefined => {
    if (known.has(usage)) return known.get(usage);
    // Cycles are possible: the scan takes a while and pids are reused.
    known.set(usage, undefined);
    const { pid, session, group, parent } = usage;
    const above = byPid.get(parent);
    const owner =
      roots.get(pid) ?? roots.get(session) ?? roots.get(group) ?? (above === undefined ? undefined : ownerOf(above)) ?? marked(usage);
    known.set(usage, owner);
    return owner;
  };
  const owners = new Map<ProcessUsage, string>();
  for (const usage of usages) {
    const owner = ownerOf(usage);
    if (owner !== undefined) owners.set(usage, owner);
  }
  return owners;
}

/** Caches the marker of each process; an environment doesn't change. */
export class ProcessMarkers {
  readonly #pattern: RegExp;
  readonly #read: (pid: number) => string | undefined;
  #slots = new Map<string, string | undefined>();
  #nextSlots = new Map<string, string | undefined>();

  /** `mark`: the part of `PROCMAN_RUN_ID` after the `@`. */
  constructor(mark: string, read = processEnvironment) {
    this.#pattern = new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=([^\\0 ]*)\\.\\d+@${mark}(?:$|[\\0 ])`);
    this.#read = read;
  }

  /** The slot for which the process was started. */
  slotOf({ pid, startTime }: ProcessUsage): string | undefined {
    const key = `${pid} ${startTime}`;
    const slot = this.#slots.has(key) ? this.#slots.get(key) : this.#pattern.exec(this.#read(pid) ?? "")?.[1];
    this.#nextSlots.set(key, slot);
    return slot;
  }

  /** Ends a scan: processes that were not asked about in it are forgotten. */
  endScan(): void {
    this.#slots = this.#nextSlots;
    this.#nextSlots = new Map();
  }
}

/** Processes with `PROCMAN_RUN_ID=…@mark`, of all runs or of one (such as `web.3`). Scans all processes of the machine: about 10 µs each. */
export function markedProcesses(mark: string, run?: string): readonly ProcessStat[] {
  const which = run?.replaceAll(".", "\\.") ?? "[^\\0 ]*";
  const pattern = new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=${which}@${mark}(?:$|[\\0 ])`);
  const found: ProcessStat[] = [];
  for (const [pid, environment] of allEnvironments()) {
    const stat = pid !== process.pid && pattern.test(environment) ? processStat(pid) : undefined;
    if (stat !== undefined && stat.state !== "Z") found.push(stat);
  }
  return found;
}
