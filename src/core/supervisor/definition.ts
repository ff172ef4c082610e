/** What the supervisor needs to know about a process, and what a changed definition means for it. */
import type { Policy } from "./restart-policy.ts";
import type { SlotState } from "./states.ts";
import type { Schedules } from "./timetable.ts";
import { hasCurrentRun, hasFailed, isAsleep, isUnderWay, wasNeverStarted } from "./verdict.ts";

export const CONDITIONS = ["started", "ready", "reachable", "finished", "completed"] as const;

/**
 * `started`: it is running, or has finished. `ready`: it is running and ready. `reachable`: it is ready, or sleeps and
 * its first client wakes it. `finished`: it has exited by itself with code 0;
 * `completed`: with any code, or by a signal, and its policy doesn't restart it.
 */
export type Condition = (typeof CONDITIONS)[number];

export type Dependency = {
  readonly id: string;
  readonly condition: Condition;
  /** Whether the dependent process is restarted after this dependency was restarted. */
  readonly restart: boolean;
  /** The dependency's slots; of a cluster, all instances. One running instance is enough; for `finished` and `completed`, all must have ended. */
  readonly members: readonly string[];
};

export type ProcessDefinition = {
  readonly id: string;
  /** That it is an instance of. */
  readonly cluster?: string;
  readonly policy: Policy;
  readonly autostart: boolean;
  /** Whether another run may start while one is active. */
  readonly overrun: boolean;
  readonly cron?: string;
  /** Cron pattern of the times at which its runs are terminated. */
  readonly terminate?: string;
  /** Time zone of both patterns; absent: that of the host. */
  readonly timeZone?: string;
  /** Each scheduled start comes this much later. */
  readonly startDelayMs?: number;
  /** A start that was missed while procman was away is made up for, once. */
  readonly catchUp?: true;
  readonly dependsOn?: readonly Dependency[];
};

/** Whether it sleeps while it has no client. */
export function sleeps({ policy }: Pick<ProcessDefinition, "policy">): boolean {
  return policy.idleMs !== undefined;
}

/** Whether the condition is about the end of runs: of a cluster, all instances must meet it. */
export function isAboutEnd(condition: Condition): boolean {
  return condition === "finished" || condition === "completed";
}

export function schedulesOf({ cron, terminate, timeZone, startDelayMs }: ProcessDefinition): Schedules {
  const zone = timeZone === undefined ? {} : { timeZone };
  const delay = startDelayMs === undefined ? {} : { delayMs: startDelayMs };
  return {
    ...(cron === undefined ? {} : { start: { pattern: cron, ...zone, ...delay } }),
    ...(terminate === undefined ? {} : { terminate: { pattern: terminate, ...zone } }),
  };
}

/** Ids of the dependencies whose restart restarts it. */
export function followedIn({ dependsOn = [] }: ProcessDefinition): readonly string[] {
  return dependsOn.filter(({ restart }) => restart).map(({ id }) => id);
}

export type Change = {
  /** Names of the changed fields. */
  readonly fields: readonly string[];
  /** True if the change affects present runs only after a restart. */
  readonly restart: boolean;
};

/** `blocked`: it would restart if it weren't blocked. `runs on`: its runs continue under the new definition. */
export type ChangeEffect = "restarts" | "starts" | "blocked" | "runs on" | "none";

export type ChangedFields = {
  readonly definition: ProcessDefinition;
  readonly blocked: boolean;
  readonly disabled: boolean;
  readonly states: readonly SlotState[];
};

export function effectOf(
  { restart }: Change,
  before: ProcessDefinition,
  { definition, blocked, disabled, states }: ChangedFields,
): ChangeEffect {
  const mayStart = definition.autostart && !blocked && !disabled;
  if (restart && states.some(isUnderWay)) return blocked ? "blocked" : "restarts";
  // The change may have fixed the cause of the failure.
  if (restart && mayStart && hasFailed(states[0])) return "starts";
  if (mayStart && !before.autostart && states.every(wasNeverStarted)) return "starts";
  // Nothing would wake it any more.
  if (mayStart && !sleeps(definition) && states.some(isAsleep)) return "starts";
  return states.some(hasCurrentRun) ? "runs on" : "none";
}
