/** Runs that are found by the mark in their environment, when the records that told of them are gone. */
import type { Running } from "../contract/keeper-protocol.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { type ProcessStat, processEnvironment } from "../os/process-stat.ts";
import { markedProcesses } from "../os/strays.ts";

/** Of each slot the latest run, with its leader: the member that leads a group and was there first. */
export function foundRuns(mark: string): readonly Running[] {
  const found = new Map<string, Running>();
  for (const stat of markedProcesses(mark).filter(({ pid, group }) => pid === group)) {
    const run = runOf(stat, mark);
    const known = run === undefined ? undefined : found.get(run.slot);
    if (run !== undefined && (known === undefined || isBetter(run, known))) found.set(run.slot, run);
  }
  return [...found.values()];
}

function runOf({ pid, startTime }: ProcessStat, mark: string): Running | undefined {
  const [, slot, run] =
    new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=([^\\0 ]*)\\.(\\d+)@${mark}(?:$|[\\0 ])`).exec(processEnvironment(pid) ?? "") ?? [];
  return slot === undefined ? undefined : { slot, run: Number(run), pid, startTime, since: monotonicMs() };
}

function isBetter(one: Running, other: Running): boolean {
  return one.run === other.run ? Number(one.startTime) < Number(other.startTime) : one.run > other.run;
}
