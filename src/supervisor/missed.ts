/** What was planned for times at which nobody was there. It isn't made up for. */
import type { Notice } from "./notice.ts";
import { missedTimes } from "./schedule.ts";
import { KINDS, type Patterns, type Planned } from "./timetable.ts";

/** Counting more of them would only take time. */
const MISSED_LIMIT = 1_000;

type Present = { readonly now: number; readonly isIdle: boolean };

export function missedOf(patterns: Patterns, planned: Planned, { now, isIdle }: Present): readonly Notice[] {
  return KINDS.flatMap((kind) => {
    const [first, pattern] = [planned[kind], patterns[kind]];
    // Who doesn't run has missed no termination.
    if (first === undefined || pattern === undefined || first > now || (kind === "terminate" && isIdle)) return [];
    const missed = missedTimes(pattern, first, now, MISSED_LIMIT);
    return [{ type: "missed" as const, kind, isCapped: missed.times === MISSED_LIMIT, ...missed }];
  });
}
