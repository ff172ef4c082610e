/** What was planned for a time at which nobody was there. It isn't made up for. */
import type { Notice } from "./notice.ts";
import { type Plan, patternsOf } from "./plan.ts";
import { missedTimes } from "./schedule.ts";
import { KINDS, type Planned } from "./timetable.ts";

/** Counting more of them would only take time. */
const LIMIT = 1_000;

/** `wall`: milliseconds since 1970. */
export function missedNotices(
  planned: Planned = {},
  plan: Plan,
  { wall, isIdle }: { readonly wall: number; readonly isIdle: boolean },
): readonly Notice[] {
  return KINDS.flatMap((kind) => {
    const [first, pattern] = [planned[kind], patternsOf(plan)[kind]];
    // Who doesn't run has missed no termination.
    if (first === undefined || pattern === undefined || first > wall || (kind === "terminate" && isIdle)) return [];
    const missed = missedTimes(pattern, first, wall, LIMIT);
    return [{ type: "missed", kind, isCapped: missed.times === LIMIT, ...missed }];
  });
}
