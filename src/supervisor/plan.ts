/** What the supervisor has to know of a process. */
import type { Policy } from "./restart-policy.ts";
import type { Patterns } from "./timetable.ts";

export const CONDITIONS = ["started", "ready", "finished"] as const;

/** `started`: it runs. `ready`: it runs and is ready. `finished`: it has ended by itself with code 0. */
export type Condition = (typeof CONDITIONS)[number];

export type Dependency = {
  readonly id: string;
  readonly condition: Condition;
  /** Whoever depends on it is restarted when it was started anew. */
  readonly restart: boolean;
  /** Its slots: of a cluster all instances. One that runs is enough; all must have finished. */
  readonly members: readonly string[];
};

export type Plan = {
  readonly id: string;
  readonly policy: Policy;
  readonly autostart: boolean;
  /** Whether a further run may start while one is under way. */
  readonly overrun: boolean;
  readonly cron?: string;
  /** Cron pattern of the times at which it is terminated. */
  readonly terminate?: string;
  readonly dependsOn?: readonly Dependency[];
};

export function patternsOf({ cron, terminate }: Plan): Patterns {
  return { ...(cron === undefined ? {} : { start: cron }), ...(terminate === undefined ? {} : { terminate }) };
}
