/** What the supervisor has to know of a process. */
import type { Dependency } from "./dependencies.ts";
import type { Policy } from "./restart-policy.ts";
import type { Patterns } from "./timetable.ts";

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
