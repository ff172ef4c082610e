/** Reconciles the keeper's snapshot with the notes. Notes may be missing, torn or unknown; running processes keep running. */
import { normalise } from "../../config/normalise.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { EndReport, FromKeeper, RunKey, RunningRun } from "../../ipc/keeper-protocol.ts";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import { processOf } from "../spec-registry.ts";
import { type ConfigSnapshot, readConfigSnapshot, writeConfigSnapshot } from "./config-snapshot.ts";
import { processNotes } from "./notes.ts";

export type RecoveredState = {
  /** The configuration that the current runs were started by; if unknown, the present one. */
  readonly previous: ConfigSnapshot;
  readonly snapshots: ReadonlyMap<string, ProcessSnapshot>;
  /** Runs that are in no note. */
  readonly unknownRuns: readonly RunningRun[];
  /** Ids of processes whose notes can't be used. */
  readonly damagedNotes: readonly string[];
  /** Runs that are over by the notes but still running: they are killed, so that no process has two runs. */
  readonly outdatedRuns: readonly RunningRun[];
};

export type KeeperSnapshot = Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage">;

export function reconcile({ notes, running, ended }: KeeperSnapshot, config: Config): RecoveredState {
  const snapshots = new Map<string, ProcessSnapshot>();
  const damagedNotes: string[] = [];
  for (const [id, snapshot] of processNotes(notes)) {
    if (snapshot === undefined) damagedNotes.push(id);
    else snapshots.set(id, snapshot);
  }
  const followed = new Set(ended.filter((report) => report.t === "exited" && report.followed).map(nextKey));
  const found = running.map((run) => ({ run, fit: classify(run, snapshots.get(processOf(run.slot)), followed) }));
  const unknownRuns = found.filter(({ fit }) => fit === "unknown").map(({ run }) => run);
  for (const run of unknownRuns)
    setState(snapshots, run, { status: "running", restarts: 0, pid: run.pid, since: run.since, ready: false });
  // Runs that are in no note but have ended: their policy decides by the report.
  for (const report of latestReports(ended)) {
    const known = snapshots.get(processOf(report.slot));
    if (known === undefined || !Object.hasOwn(known.slots, report.slot))
      setState(snapshots, report, { status: "starting", restarts: 0 });
  }
  return {
    previous: previousConfig(savedConfig(notes[":config"], config), config, snapshots),
    snapshots,
    unknownRuns,
    damagedNotes,
    outdatedRuns: found.filter(({ fit }) => fit === "outdated").map(({ run }) => run),
  };
}

/** undefined: there is no note, or it is equal to the present configuration. */
function savedConfig(note: string | undefined, config: Config): ConfigSnapshot | undefined {
  return note === undefined || note === writeConfigSnapshot({ config, removing: [] })
    ? undefined
    : readConfigSnapshot(note);
}

/** Adds processes that exist but were not in that configuration. */
function previousConfig(
  kept: ConfigSnapshot | undefined,
  config: Config,
  snapshots: ReadonlyMap<string, ProcessSnapshot>,
): ConfigSnapshot {
  const { config: before, removing } = kept ?? { config, removing: [] };
  const known = new Set([...before.processes, ...removing].map(({ id }) => id));
  const named = config.processes.filter(({ id }) => snapshots.has(id) && !known.has(id));
  for (const { id } of named) known.add(id);
  const unknownSpecs = [...snapshots.keys()].filter((id) => !known.has(id)).map(unknownProcessSpec);
  const all = named.length === 0 ? before : { ...before, processes: [...before.processes, ...named] };
  return { config: all, removing: [...removing, ...unknownSpecs] };
}

/** Compares a run that the keeper reports with the noted state of its slot. */
function classify(
  { slot, run }: RunKey,
  snapshot: ProcessSnapshot | undefined,
  followed: ReadonlySet<string>,
): "known" | "unknown" | "outdated" {
  const state = snapshot !== undefined && Object.hasOwn(snapshot.slots, slot) ? snapshot.slots[slot] : undefined;
  // The keeper started it by a restart order of the noted run, whose end is not processed yet.
  if (state?.run === run - 1 && followed.has(`${slot}#${run}`)) return "known";
  if (state === undefined || run > state.run) return "unknown";
  if (run < state.run) return "outdated";
  return hasCurrentRun(state) ? "known" : "unknown";
}

function nextKey({ slot, run }: RunKey): string {
  return `${slot}#${run + 1}`;
}

type Unnumbered = SlotState extends infer State
  ? State extends { readonly run: number }
    ? Omit<State, "run">
    : never
  : never;

function setState(snapshots: Map<string, ProcessSnapshot>, { slot, run }: RunKey, state: Unnumbered): void {
  const id = processOf(slot);
  const snapshot = snapshots.get(id) ?? { blocked: false, slots: {} };
  snapshots.set(id, { ...snapshot, slots: { ...snapshot.slots, [slot]: { ...state, run } as SlotState } });
}

/** The report of the latest run of each slot. */
function latestReports(ended: readonly EndReport[]): readonly EndReport[] {
  const reports = new Map<string, EndReport>();
  for (const report of ended) if ((reports.get(report.slot)?.run ?? 0) < report.run) reports.set(report.slot, report);
  return [...reports.values()];
}

/** A specification for a process of unknown configuration: it is stopped with the default stop policy. */
function unknownProcessSpec(id: string): ProcessSpec {
  const { processes } = normalise(
    { processes: [{ id, cmd: "" }] },
    { folder: "/", parallelism: 1, now: new Date(), stripsTypes: false },
  );
  return processes[0] as ProcessSpec;
}
