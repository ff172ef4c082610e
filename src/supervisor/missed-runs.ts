/** Scheduled runs that procman missed while it was not running. They are reported, not made up for. */

import { type ProcessDefinition, patternsOf } from "./definition.ts";
import type { ProcessEvent } from "./process-notice.ts";
import { missedTimes } from "./schedule.ts";
import type { PlannedTime } from "./snapshot.ts";
import { KINDS } from "./timetable.ts";

/** Missed runs are counted up to this number. */
const LIMIT = 1_000;

/** `wall`: milliseconds since 1970. */
export function missedNotices(
  planned: PlannedTime = {},
  definition: ProcessDefinition,
  { wall, isIdle }: { readonly wall: number; readonly isIdle: boolean },
): readonly ProcessEvent[] {
  return KINDS.flatMap((kind) => {
    const [first, pattern] = [planned[kind], patternsOf(definition)[kind]];
    // A process that wasn't running has missed no termination.
    if (first === undefined || pattern === undefined || first > wall || (kind === "terminate" && isIdle)) return [];
    const missed = missedTimes(pattern, first, wall, LIMIT);
    return [{ type: "missed", kind, isCapped: missed.times === LIMIT, ...missed }];
  });
}
