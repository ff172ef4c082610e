/** Assigns processes to runs: members of the run's session or group, descendants, and processes with its marker variable. */
import type { RunMarker, RunMarkers } from "../base/run-marker.ts";
import { allEnvironments, type ProcessStat, processEnvironment, processStat, uidsOf } from "./process-stat.ts";
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
      roots.get(pid) ??
      roots.get(session) ??
      roots.get(group) ??
      (above === undefined ? undefined : ownerOf(above)) ??
      marked(usage);
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

/** The user of a slot, if it isn't procman's own. */
export type UidOfSlot = (slot: string) => number | undefined;

/**
 * Whether the process belongs to this run: its marker is proven, or the process was started by procman's user or that
 * of the slot. (The real uid: a program with the set-uid bit changes only the effective one.)
 */
export function isGenuine(pid: number, { slot, isProven }: RunMarker, uidOf: UidOfSlot): boolean {
  if (isProven) return true;
  const uid = uidsOf(pid)?.real;
  return uid !== undefined && (uid === process.geteuid?.() || uid === uidOf(slot));
}

/** Caches the marker of each process; an environment doesn't change. */
export class ProcessMarkers {
  readonly #markers: RunMarkers;
  readonly #uidOf: UidOfSlot;
  readonly #read: (pid: number) => string | undefined;
  #slots = new Map<string, string | undefined>();
  #nextSlots = new Map<string, string | undefined>();

  constructor(markers: RunMarkers, uidOf: UidOfSlot, read = processEnvironment) {
    this.#markers = markers;
    this.#uidOf = uidOf;
    this.#read = read;
  }

  /** The slot for which the process was started. */
  slotOf({ pid, startTime }: ProcessUsage): string | undefined {
    const key = `${pid} ${startTime}`;
    const slot = this.#slots.has(key) ? this.#slots.get(key) : this.#readSlot(pid);
    this.#nextSlots.set(key, slot);
    return slot;
  }

  /** Ends a scan: processes that were not asked about in it are forgotten. */
  endScan(): void {
    this.#slots = this.#nextSlots;
    this.#nextSlots = new Map();
  }

  #readSlot(pid: number): string | undefined {
    const marker = this.#markers.in(this.#read(pid) ?? "");
    return marker !== undefined && isGenuine(pid, marker, this.#uidOf) ? marker.slot : undefined;
  }
}

/** A process with a genuine marker. */
export type MarkedProcess = ProcessStat & Pick<RunMarker, "slot" | "run">;

/** Processes with a marker of this state folder; `seen`: called with each at once. Scans all processes of the machine: about 10 µs each. */
export function markedProcesses(
  markers: RunMarkers,
  uidOf: UidOfSlot,
  seen?: (pid: number) => void,
): readonly MarkedProcess[] {
  const found: MarkedProcess[] = [];
  for (const [pid, environment] of allEnvironments()) {
    const marker = pid === process.pid ? undefined : markers.in(environment);
    if (marker === undefined || !isGenuine(pid, marker, uidOf)) continue;
    seen?.(pid);
    const stat = processStat(pid);
    if (stat !== undefined && stat.state !== "Z") found.push({ ...stat, slot: marker.slot, run: marker.run });
  }
  return found;
}
