/** From the keeper's snapshot to what a new service goes on from. Notes may be lost, torn or strange: what runs, runs. */
import { normalise } from "../../config/normalise.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { EndReport, FromKeeper, RunKey, RunningRun } from "../../ipc/keeper-protocol.ts";
import type { ProcessSnapshot } from "../../supervisor/snapshot.ts";
import type { InstanceState } from "../../supervisor/states.ts";
import { processOf } from "../spec-registry.ts";
import { type ConfigSnapshot, readConfigSnapshot, writeConfigSnapshot } from "./config-snapshot.ts";
import { processNotes } from "./notes.ts";

export type RecoveredState = {
  /** What the runs of now were started by; where that isn't known, the configuration of now. */
  readonly previous: ConfigSnapshot;
  readonly snapshots: ReadonlyMap<string, ProcessSnapshot>;
  /** Processes that run, and of which nothing was known. */
  readonly unknownRuns: readonly RunningRun[];
  /** Processes whose notes can't be used. */
  readonly damagedNotes: readonly string[];
  /** Runs that were over for the service, and yet there: nobody shall have two copies. */
  readonly outdatedRuns: readonly RunningRun[];
};

type KeeperSnapshot = Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage">;

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
  for (const run of unknownRuns) setState(snapshots, run, { status: "running", restarts: 0, pid: run.pid, since: run.since, ready: false });
  // Nobody knows of them, but how they ended: by that their policy can decide.
  for (const report of latestReports(ended)) {
    const known = snapshots.get(processOf(report.slot));
    if (known === undefined || !Object.hasOwn(known.slots, report.slot)) setState(snapshots, report, { status: "starting", restarts: 0 });
  }
  return {
    previous: previousConfig(savedConfig(notes[":config"], config), config, snapshots),
    snapshots,
    unknownRuns,
    damagedNotes,
    outdatedRuns: found.filter(({ fit }) => fit === "outdated").map(({ run }) => run),
  };
}

/** undefined: there is none, or it says what is known already, and then nothing needs comparing. */
function savedConfig(note: string | undefined, config: Config): ConfigSnapshot | undefined {
  return note === undefined || note === writeConfigSnapshot({ config, removing: [] }) ? undefined : readConfigSnapshot(note);
}

/** With whoever is there and was not in that configuration. */
function previousConfig(kept: ConfigSnapshot | undefined, config: Config, snapshots: ReadonlyMap<string, ProcessSnapshot>): ConfigSnapshot {
  const { config: before, removing } = kept ?? { config, removing: [] };
  const known = new Set([...before.processes, ...removing].map(({ id }) => id));
  const named = config.processes.filter(({ id }) => snapshots.has(id) && !known.has(id));
  for (const { id } of named) known.add(id);
  const unknownSpecs = [...snapshots.keys()].filter((id) => !known.has(id)).map(unknownProcessSpec);
  const all = named.length === 0 ? before : { ...before, processes: [...before.processes, ...named] };
  return { config: all, removing: [...removing, ...unknownSpecs] };
}

/** A run that the keeper sees, beside what is remembered of its slot. */
function classify(
  { slot, run }: RunKey,
  snapshot: ProcessSnapshot | undefined,
  followed: ReadonlySet<string>,
): "known" | "unknown" | "outdated" {
  const state = snapshot !== undefined && Object.hasOwn(snapshot.slots, slot) ? snapshot.slots[slot] : undefined;
  // It was prepared by the run that is remembered, whose end is still to be heard of.
  if (state?.run === run - 1 && followed.has(`${slot}#${run}`)) return "known";
  if (state === undefined || run > state.run) return "unknown";
  if (run < state.run) return "outdated";
  return ["idle", "waiting", "backoff"].includes(state.status) ? "unknown" : "known";
}

function nextKey({ slot, run }: RunKey): string {
  return `${slot}#${run + 1}`;
}

type Unnumbered = InstanceState extends infer State ? (State extends { readonly run: number } ? Omit<State, "run"> : never) : never;

function setState(snapshots: Map<string, ProcessSnapshot>, { slot, run }: RunKey, state: Unnumbered): void {
  const id = processOf(slot);
  const snapshot = snapshots.get(id) ?? { blocked: false, slots: {} };
  snapshots.set(id, { ...snapshot, slots: { ...snapshot.slots, [slot]: { ...state, run } as InstanceState } });
}

/** Of each slot the report of its latest run. */
function latestReports(ended: readonly EndReport[]): readonly EndReport[] {
  const reports = new Map<string, EndReport>();
  for (const report of ended) if ((reports.get(report.slot)?.run ?? 0) < report.run) reports.set(report.slot, report);
  return [...reports.values()];
}

/** Somebody left it here, nobody knows how it was configured: it is stopped as one is that has no stop policy. */
function unknownProcessSpec(id: string): ProcessSpec {
  const { processes } = normalise({ processes: [{ id, cmd: "" }] }, { folder: "/", parallelism: 1, now: new Date(), stripsTypes: false });
  return processes[0] as ProcessSpec;
}
