/** The processes that a reload restarts because they depend, with `restart: true`, on one that it starts or restarts. */

import type { ProcessSpec } from "../../config/spec.ts";
import type { PlannedChange } from "../../contract/plan.ts";
import type { Dependency } from "../../supervisor/definition.ts";
import { areYounger } from "../../supervisor/dependencies.ts";
import type { Process } from "../../supervisor/process.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { isStartingOrRunning } from "../../supervisor/verdict.ts";
import { definitionOf } from "../spec-registry.ts";

export type FollowerContext = {
  readonly live: ReadonlyMap<string, Process>;
  /** The new specifications, dependencies before their dependents. */
  readonly ordered: readonly ProcessSpec[];
  /** Ids that a rollout under way has yet to restart. */
  readonly pending: readonly string[];
};

/** The changes with those that follow from them. It decides as `Dependencies` does once the dependencies are up. */
export function withFollowers(
  changes: readonly PlannedChange[],
  { live, ordered, pending }: FollowerContext,
): readonly PlannedChange[] {
  const planned = new Map(changes.map((change) => [change.process, change]));
  const renewed = new Set(
    changes.filter(({ action }) => action === "start" || action === "restart").map(({ process }) => process),
  );
  for (const spec of ordered) {
    const [change, process] = [planned.get(spec.id), live.get(spec.id)];
    if (
      change === undefined ||
      process === undefined ||
      renewed.has(spec.id) ||
      !isStartingOrRunning(process.states[0])
    )
      continue;
    const followed = followedBy(spec, process, (id) => (renewed.has(id) ? "renewed" : (live.get(id)?.states ?? [])));
    if (followed === undefined && !pending.includes(spec.id)) continue;
    if (!process.isBlocked) renewed.add(spec.id);
    planned.set(spec.id, followUp(change, followed, process.isBlocked));
  }
  return changes.map((change) => planned.get(change.process) ?? change);
}

type StatesAfter = (id: string) => readonly SlotState[] | "renewed";

/** The dependency whose runs will all have begun after the process's run, because of the reload. */
function followedBy(spec: ProcessSpec, process: Process, statesAfter: StatesAfter): string | undefined {
  const { dependsOn = [] } = definitionOf(spec);
  const earlier = new Map(process.definition.dependsOn?.map((dependency) => [dependency.id, dependency]));
  const isFollowed = ({ id, restart, members }: Dependency): boolean => {
    const before = earlier.get(id);
    const after = members.map(statesAfter);
    const isRenewed = after.includes("renewed");
    const others = after.flatMap((states) => (states === "renewed" ? [] : states.filter(isStartingOrRunning)));
    // Runs that a dependency had before it was declared don't count.
    const since = before?.restart === true ? process.followsSince(id) : undefined;
    const areOthersYounger = others.length === 0 || (since !== undefined && areYounger(others, since));
    const isSmaller = others.length > 0 && before?.members.some((member) => !members.includes(member)) === true;
    return restart && areOthersYounger && (isRenewed || isSmaller);
  };
  return dependsOn.find(isFollowed)?.id;
}

function followUp(change: PlannedChange, followed: string | undefined, isBlocked: boolean): PlannedChange {
  const dependency = followed === undefined ? "what it depends on" : `${followed}, on which it depends`;
  const why = isBlocked ? `is not restarted with ${dependency}, as it is blocked` : `restarts with ${dependency}`;
  const reason = change.action === "none" ? why : `${change.reason}; ${why}`;
  return { ...change, reason, ...(!isBlocked && { action: "restart" }) };
}
