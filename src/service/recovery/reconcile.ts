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
  readonly former: ConfigSnapshot;
  readonly memories: ReadonlyMap<string, ProcessSnapshot>;
  /** Processes that run, and of which nothing was known. */
  readonly takenUp: readonly RunningRun[];
  /** Processes whose notes can't be used. */
  readonly damaged: readonly string[];
  /** Runs that were over for the service, and yet there: nobody shall have two copies. */
  readonly leftovers: readonly RunningRun[];
};

type KeeperSnapshot = Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage">;

export function reconcile({ notes, running, ended }: KeeperSnapshot, config: Config): RecoveredState {
  const memories = new Map<string, ProcessSnapshot>();
  const damaged: string[] = [];
  for (const [id, memory] of processNotes(notes)) {
    if (memory === undefined) damaged.push(id);
    else memories.set(id, memory);
  }
  const followed = new Set(ended.filter((report) => report.t === "exited" && report.followed).map(nextKey));
  const found = running.map((run) => ({ run, fit: fitOf(run, memories.get(processOf(run.slot)), followed) }));
  const takenUp = found.filter(({ fit }) => fit === "unknown").map(({ run }) => run);
  for (const run of takenUp) put(memories, run, { status: "running", restarts: 0, pid: run.pid, since: run.since, ready: false });
  // Nobody knows of them, but how they ended: by that their policy can decide.
  for (const report of latest(ended)) {
    const known = memories.get(processOf(report.slot));
    if (known === undefined || !Object.hasOwn(known.slots, report.slot)) put(memories, report, { status: "starting", restarts: 0 });
  }
  return {
    former: formerOf(keptIn(notes[":config"], config), config, memories),
    memories,
    takenUp,
    damaged,
    leftovers: found.filter(({ fit }) => fit === "outdated").map(({ run }) => run),
  };
}

/** undefined: there is none, or it says what is known already, and then nothing needs comparing. */
function keptIn(note: string | undefined, config: Config): ConfigSnapshot | undefined {
  return note === undefined || note === writeConfigSnapshot({ config, leaving: [] }) ? undefined : readConfigSnapshot(note);
}

/** With whoever is there and was not in that configuration. */
function formerOf(kept: ConfigSnapshot | undefined, config: Config, memories: ReadonlyMap<string, ProcessSnapshot>): ConfigSnapshot {
  const { config: before, leaving } = kept ?? { config, leaving: [] };
  const known = new Set([...before.processes, ...leaving].map(({ id }) => id));
  const named = config.processes.filter(({ id }) => memories.has(id) && !known.has(id));
  for (const { id } of named) known.add(id);
  const strangers = [...memories.keys()].filter((id) => !known.has(id)).map(strangerOf);
  const all = named.length === 0 ? before : { ...before, processes: [...before.processes, ...named] };
  return { config: all, leaving: [...leaving, ...strangers] };
}

/** A run that the keeper sees, beside what is remembered of its slot. */
function fitOf(
  { slot, run }: RunKey,
  memory: ProcessSnapshot | undefined,
  followed: ReadonlySet<string>,
): "known" | "unknown" | "outdated" {
  const state = memory !== undefined && Object.hasOwn(memory.slots, slot) ? memory.slots[slot] : undefined;
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

function put(memories: Map<string, ProcessSnapshot>, { slot, run }: RunKey, state: Unnumbered): void {
  const id = processOf(slot);
  const memory = memories.get(id) ?? { blocked: false, slots: {} };
  memories.set(id, { ...memory, slots: { ...memory.slots, [slot]: { ...state, run } as InstanceState } });
}

/** Of each slot the report of its latest run. */
function latest(ended: readonly EndReport[]): readonly EndReport[] {
  const reports = new Map<string, EndReport>();
  for (const report of ended) if ((reports.get(report.slot)?.run ?? 0) < report.run) reports.set(report.slot, report);
  return [...reports.values()];
}

/** Somebody left it here, nobody knows how it was configured: it is stopped as one is that has no stop policy. */
function strangerOf(id: string): ProcessSpec {
  const { processes } = normalise({ processes: [{ id, cmd: "" }] }, { folder: "/", parallelism: 1, now: new Date(), stripsTypes: false });
  return processes[0] as ProcessSpec;
}
