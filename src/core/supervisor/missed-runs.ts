/** Scheduled times that procman missed while it was not running. They are reported; a start is made up for once if that is requested. */
import { type ProcessDefinition, schedulesOf } from "./definition.ts";
import { missedTimes } from "./schedule.ts";
import type { MissedSchedule, PlannedTime } from "./snapshot.ts";
import type { ScheduledAction } from "./states.ts";
import { KINDS } from "./timetable.ts";

/** Missed runs are counted up to this number. */
const LIMIT = 1_000;

/** `planned`: the next times, as noted before procman was away. `wall`: milliseconds since 1970. */
export function missedSchedules(
  planned: PlannedTime,
  definition: ProcessDefinition,
  { wall, isIdle }: { readonly wall: number; readonly isIdle: boolean },
): ReadonlyMap<ScheduledAction, MissedSchedule> {
  const missed = KINDS.flatMap((kind) => {
    const first = planned[kind];
    const schedule = schedulesOf(definition)[kind];
    if (first === undefined || schedule === undefined) return [];
    // Until its delay is over, a time isn't missed.
    const until = wall - (schedule.delayMs ?? 0);
    // A process that wasn't running has missed no termination.
    if (first > until || (kind === "terminate" && isIdle)) return [];
    const times = missedTimes(schedule, first, until, LIMIT);
    const isMadeUpFor = definition.catchUp === true && kind === "start";
    return [[kind, { ...times, isCapped: times.times === LIMIT, isMadeUpFor }] as const];
  });
  return new Map(missed);
}
