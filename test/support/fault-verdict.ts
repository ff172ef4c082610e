/** What was lost, doubled, damaged or left behind after all kills. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { processOf } from "../../src/core/service/spec-registry.ts";
import type { ProcessSnapshot } from "../../src/core/supervisor/snapshot.ts";
import type { SlotState } from "../../src/core/supervisor/states.ts";
import type { Run } from "./diary-check.ts";
import type { JournalEnd } from "./journal-tail.ts";
import { checkLog } from "./line-check.ts";
import { isAlive } from "./procman-process.ts";

/** On a busy machine an exit is in the journal within this time. Milliseconds. */
const UNNOTED_MS = 400;
/** From the spawn of a run to its first note in the diary. Milliseconds. */
const BIRTH_MS = 1_500;
/** From the kill of a keeper until its successor has taken over, on a busy machine; longest when the test has to start it. Milliseconds. */
const TAKEOVER_MS = 10_000;
/** From the end of a program to that of the shell around it. */
const SHELL_MS = 200;
/** Output may be read this long after the end of its run. Milliseconds. */
const DRAIN_MS = 4_000;

/** `what`: the parts, in words: of `everything` all but the balancer. */
export type Kill = { readonly what: string; readonly at: number; readonly pids: readonly number[] };

export type Ends = ReadonlyMap<string, JournalEnd>;
export type Notes = ReadonlyMap<string, readonly { readonly slots: Readonly<Record<string, SlotState>> }[]>;

/** The run `web.3@mark` has the key `web#3` in procman. */
function keyOf({ managed }: Pick<Run, "managed">): string {
  return managed.replace(/\.(\d+)@.*$/, "#$1");
}

const wasKilled = (kills: readonly Kill[], what: string, from: number, to: number): boolean =>
  kills.some((each) => new RegExp(`${what}|everything`).test(each.what) && each.at >= from && each.at <= to);

type Logs = {
  readonly kills: readonly Kill[];
  readonly ends: Ends;
  /** Processes with numbered lines. */
  readonly ids: readonly string[];
  readonly pathOf: (id: string) => string;
  /** Those that write to the same file; absent: itself. */
  readonly writersOf?: (id: string) => readonly string[];
};

/** Lines that are missing, doubled or damaged in the logs, beyond what the kills excuse. */
export function checkLogs(runs: readonly Run[], { kills, ends, ids, pathOf, writersOf = (id) => [id] }: Logs) {
  const totals = { findings: [] as string[], lines: 0, bytes: 0, marks: 0, excusedBytes: 0 };
  for (const id of ids) {
    const own = runs.filter((run) => writersOf(id).includes(run.id));
    const endOf = (run: Run): number => run.to ?? ends.get(keyOf(run))?.at ?? Number.POSITIVE_INFINITY;
    const known = own.map((run) => ({
      ...run,
      isCut: run.to === undefined,
      readersKilled: kills.filter(
        ({ what, at }) => /logger|everything/.test(what) && at > run.from - BIRTH_MS && at < endOf(run) + DRAIN_MS,
      ).length,
      // The data of a pipe is lost when neither reader, keeper nor run holds it open.
      isUnread: ["keeper", "logger"].every((what) =>
        wasKilled(kills, what, endOf(run) - DRAIN_MS, endOf(run) + DRAIN_MS),
      ),
    }));
    const { findings, lines, bytes, marks, excusedBytes } = checkLog(pathOf(id), known);
    totals.findings.push(...findings);
    totals.lines += lines;
    totals.bytes += bytes;
    totals.marks += marks;
    totals.excusedBytes += excusedBytes;
  }
  return totals;
}

/** The shell around a program ends with the program's code, unless a shutdown ends it first; then no run follows. */
function isCutShort({ id, pid, from, to = 0 }: Run, end: JournalEnd, runs: readonly Run[]): boolean {
  const isLast = runs.every((run) => run.id !== id || run.from <= from);
  return isLast && end.pid !== undefined && end.pid !== pid && end.signal === "SIGTERM" && end.at - to < SHELL_MS;
}

/** procman knows the end of each run with its exit code; it is unknown only where the keeper was killed. */
export function exits(runs: readonly Run[], ends: Ends, kills: readonly Kill[]): readonly string[] {
  return runs.flatMap((run) => {
    const key = keyOf(run);
    const end = ends.get(key);
    if (end === undefined) return [`lost exit: procman does not know the end of ${key}`];
    const to = run.to ?? end.at;
    const mayBeUnknown = wasKilled(kills, "keeper", run.from - BIRTH_MS, to + UNNOTED_MS);
    if (end.unknown)
      return mayBeUnknown ? [] : [`lost exit: the exit of ${key} is unknown, though its keeper wasn't killed`];
    if (run.to === undefined || run.asked === true) return [];
    return end.code === run.code || isCutShort(run, end, runs)
      ? []
      : [`wrong exit: ${key} ended with code ${run.code}, procman says ${end.code} ${end.signal}`];
  });
}

/** A start that no keeper knows the outcome of has a kill of its keeper right before. */
export function unseenStarts(ends: Ends, kills: readonly Kill[]): readonly string[] {
  const unseen = [...ends].filter(([, { unknown, pid }]) => unknown === true && pid === 0);
  return unseen
    .filter(([, { at }]) => !wasKilled(kills, "keeper", at - TAKEOVER_MS, at))
    .map(([key]) => `lost start: it is not known whether ${key} has run, though its keeper wasn't killed`);
}

type Started = ReadonlyMap<string, { readonly slot: string; readonly run: number; readonly startTime?: string }>;

/** The runs of a process, also of overlapping ones, are numbered in the order of their starts without a gap or a repeat, and each has an end. */
export function numbering(started: Started, ends: Ends): readonly string[] {
  const processes = new Map<string, Map<string, number>>();
  for (const { slot, run } of [...started.values(), ...ends.values()]) {
    const id = processOf(slot);
    processes.set(id, (processes.get(id) ?? new Map()).set(`${slot}#${run}`, run));
  }
  return [...processes].flatMap(([id, runs]) => {
    const keys = [...runs.keys()].sort((one, other) => (runs.get(one) ?? 0) - (runs.get(other) ?? 0));
    const numbers = keys.map((key) => runs.get(key) ?? 0);
    const missing = Array.from({ length: numbers.at(-1) ?? 0 }, (_, index) => index + 1).filter(
      (run) => !numbers.includes(run),
    );
    const repeated = keys.filter((_, index) => numbers[index] === numbers[index - 1]);
    // "": a run that ended before the keeper could read it.
    const known = keys
      .map((key) => ({ key, time: Number(started.get(key)?.startTime) }))
      .filter(({ time }) => time > 0);
    const late = known.filter(({ time }, index) => time < (known[index - 1]?.time ?? 0));
    const open = keys.filter((key) => !ends.has(key));
    return [
      ...(missing.length > 0 ? [`run numbers: ${id} lacks ${missing.join(", ")}`] : []),
      ...repeated.map((key) => `run numbers: ${key} has the number of another run of ${id}`),
      ...late.map(({ key }) => `run numbers: ${key} was started before the run with the number below`),
      ...(open.length > 0 ? [`lost exit: ${open.join(", ")} never ended in the journal`] : []),
    ];
  });
}

type TimeNote = { readonly slots: Readonly<Record<string, { readonly run: number; readonly status: string }>> } & Pick<
  ProcessSnapshot,
  "met"
>;

/** Only its schedule starts the job: each run of its diary has a second of its schedule that no other run has. */
export function repeatedSeconds(
  id: string,
  runs: readonly Pick<Run, "id" | "managed">[],
  notes: ReadonlyMap<string, readonly TimeNote[]>,
): readonly string[] {
  const times = new Map<string, number>();
  for (const { slots, met } of notes.get(id) ?? []) {
    const [state, time] = [slots[id], met?.start?.planned];
    const key = `${id}#${state?.run}`;
    // Later notes of the run may have a time that was skipped because of it.
    if (state !== undefined && state.status !== "idle" && time !== undefined && !times.has(key)) times.set(key, time);
  }
  const own = runs.filter((run) => run.id === id).map(keyOf);
  const known = own.filter((key) => times.has(key));
  if (known.length < own.length / 2)
    return [`schedule: of ${own.length} runs of ${id} the times of ${known.length} are noted`];
  const taken = new Map<number, string>();
  return known.flatMap((key) => {
    const time = times.get(key) as number;
    const other = taken.get(time);
    taken.set(time, key);
    return other === undefined
      ? []
      : [`schedule: ${other} and ${key} were both started for ${new Date(time).toISOString()}`];
  });
}

/** Only the policy starts a crasher, so the number of restarts is the number of runs less one. */
export function restarts(id: string, notes: Notes): readonly string[] {
  const last = notes.get(id)?.at(-1)?.slots[id];
  if (last === undefined) return [`restarts: nothing is noted of ${id}`];
  return last.restarts === last.run - 1 ? [] : [`restarts: ${id} has ${last.run} runs and ${last.restarts} restarts`];
}

/**
 * The service processed the ends of a crasher with their codes. (Not all such notes are seen: if the service was away
 * for longer than the delay, the next run follows in the same turn.)
 */
export function decisions(
  id: string,
  runs: readonly Run[],
  { notes, ends }: { readonly notes: Notes; readonly ends: Ends },
): readonly string[] {
  const processed = new Map<number, SlotState>();
  for (const { slots } of notes.get(id) ?? []) {
    const state = slots[id];
    if (state?.status === "backoff") processed.set(state.run, state);
  }
  const crashes = runs.filter((run) => run.id === id && run.to !== undefined && run.asked !== true);
  if (processed.size < crashes.length / 2)
    return [`lost exit: of ${crashes.length} ends of ${id} the service processed ${processed.size}`];
  return crashes.flatMap((run) => {
    const state = processed.get(Number(keyOf(run).split("#")[1]));
    const end = ends.get(keyOf(run));
    if (state?.status !== "backoff") return [];
    const { ending } = state;
    const agrees =
      end?.unknown === true ? ending.kind === "unknown" : ending.kind === "exited" && ending.code === run.code;
    return agrees ? [] : [`wrong exit: of ${keyOf(run)} (code ${run.code}) the service has ${JSON.stringify(ending)}`];
  });
}

/** Each process that is shown as running runs, with its marker. */
export function disagreements(settled: readonly ProcessRecord[]): readonly string[] {
  const each = settled.flatMap((record) => record.instances ?? record);
  return each.flatMap(({ id, status, pid, run }) => {
    if (status !== "running") return [];
    const marker = pid === undefined ? undefined : markerOf(pid);
    // It may have ended since the answer.
    if (pid !== undefined && (!isAlive(pid) || marker === undefined)) return [];
    return marker?.replace(/:\d+/, "").startsWith(`${id}.${run}@`)
      ? []
      : [`${id} is shown as pid ${pid}, which is ${marker}`];
  });
}

function markerOf(pid: number): string | undefined {
  try {
    return /(?:^|\0)PROCMAN_RUN_ID=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, "latin1"))?.[1];
  } catch {
    return undefined;
  }
}

/** After an orderly end only the intended files are left. */
export function files(folder: string, stateDir: string): readonly string[] {
  const kept = new Set([
    "run",
    "secret",
    "logs",
    "incidents",
    "metrics",
    "cache",
    "plugins",
    "lasting.json",
    "ports.json",
    "history",
    "deployments",
  ]);
  const state = existsSync(stateDir) ? readdirSync(stateDir).filter((name) => !kept.has(name)) : ["(no state folder)"];
  const run = existsSync(join(stateDir, "run")) ? readdirSync(join(stateDir, "run")) : [];
  const logs = readdirSync(join(folder, "logs")).filter((name) => /\.tmp$/.test(name));
  return [...state, ...run.map((name) => `run/${name}`), ...logs.map((name) => `logs/${name}`)].map(
    (name) => `left behind: file ${name}`,
  );
}
