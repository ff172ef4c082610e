/** What a reload does to each process, and why. It decides as `Supervisor.apply` does. */
import { type ChangedProcess, changedSettings, diff } from "../../config/diff.ts";
import { warningLine } from "../../config/problems.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import { type PlannedAction, type PlannedChange, type PlanRecord, UNCHANGED } from "../../contract/plan.ts";
import { smallerText } from "../../contract/words.ts";
import { type ChangeEffect, type Dependency, effectOf, sleeps } from "../../supervisor/definition.ts";
import { areYounger, inStartOrder, startsOf } from "../../supervisor/dependencies.ts";
import type { Process } from "../../supervisor/process.ts";
import { inheritedFrom } from "../../supervisor/siblings.ts";
import { hasCurrentRun, isAsleep, isStartingOrRunning } from "../../supervisor/verdict.ts";
import { fieldsText } from "../reporting/event-messages.ts";
import { definitionOf } from "../spec-registry.ts";

type ProcessesById = ReadonlyMap<string, Process>;

/** `pending`: ids that a rollout under way has yet to restart. */
export function planReload(
  before: Config,
  now: Config,
  processes: readonly Process[],
  pending: readonly string[] = [],
): PlanRecord {
  const live = new Map(processes.map((process) => [process.id, process]));
  const previous = new Map(before.processes.map((spec) => [spec.id, spec]));
  const { changed, removed } = diff(before.processes, now.processes);
  const changes = new Map(changed.map((change) => [change.id, change]));
  const present = now.processes.map((spec) => {
    const old = previous.get(spec.id);
    if (old === undefined) return planAdded(spec, live, before);
    const change = changes.get(spec.id);
    return change === undefined
      ? plannedChange(spec.id, "none", UNCHANGED)
      : planChanged(old, spec, { change, live, before });
  });
  const direct = [...present, ...removed.map((id) => planRemoved(id, live, { previous, now }))];
  return {
    configFile: now.file,
    ...(now.profile === undefined ? {} : { profile: now.profile }),
    processes: markRolling(withFollowers(direct, { live, ordered: inDependencyOrder(now), pending }), {
      previous,
      now,
    }),
    settings: changedSettings(before, now),
    warnings: now.warnings.map(warningLine),
  };
}

/** Ids of processes that are restarted one after another, in order of dependencies. `pending`: those left of a rollout under way. */
export function rollingIds({ processes }: PlanRecord, now: Config, pending: readonly string[] = []): readonly string[] {
  const isRolled = ({ process, action, rolling }: PlannedChange): boolean =>
    rolling || (action === "restart" && pending.includes(process));
  const rolling = new Set(processes.filter(isRolled).map(({ process }) => process));
  return inDependencyOrder(now)
    .filter(({ id }) => rolling.has(id))
    .map(({ id }) => id);
}

function plannedChange(
  process: string,
  action: PlannedAction,
  reason: string,
  fields: readonly string[] = [],
): PlannedChange {
  return { process, action, fields, reason, rolling: false };
}

function planAdded(spec: ProcessSpec, live: ProcessesById, before: Config): PlannedChange {
  const definition = definitionOf(spec);
  const { autostart } = definition;
  const unit = spec.cluster?.id ?? spec.id;
  const others = before.processes.flatMap(({ id, cluster }) =>
    (cluster?.id ?? id) === unit ? (live.get(id) ?? []) : [],
  );
  const inherited = inheritedFrom(others);
  if (inherited !== undefined && autostart)
    return plannedChange(spec.id, "none", `is new, and not started: "${unit}" is ${inherited}`);
  if (live.has(spec.id))
    return plannedChange(
      spec.id,
      autostart ? "start" : "none",
      "is in the configuration again, while it is being stopped",
    );
  if (autostart && sleeps(definition) && others.every(({ isIdle }) => isIdle))
    return plannedChange(spec.id, "none", "is new; it sleeps until its first client comes");
  if (autostart) return plannedChange(spec.id, "start", "is new");
  return plannedChange(
    spec.id,
    "none",
    spec.cron === undefined ? "is new; it starts by hand" : "is new; it starts by its schedule",
  );
}

function planRemoved(
  id: string,
  live: ProcessesById,
  { previous, now }: { readonly previous: ReadonlyMap<string, ProcessSpec>; readonly now: Config },
): PlannedChange {
  const cluster = previous.get(id)?.cluster?.id;
  const left = cluster === undefined ? 0 : now.processes.filter((spec) => spec.cluster?.id === cluster).length;
  const isIdle = live.get(id)?.isIdle ?? true;
  const why = left === 0 ? "no longer in the configuration" : smallerText(left);
  if (isIdle) return plannedChange(id, "none", `is removed: ${why}`);
  return plannedChange(id, "stop", left === 0 ? `is ${why}` : why);
}

const ACTIONS: Readonly<Record<ChangeEffect, PlannedAction>> = {
  restarts: "restart",
  starts: "start",
  blocked: "in-place",
  "runs on": "in-place",
  none: "in-place",
};

function planChanged(
  old: ProcessSpec,
  spec: ProcessSpec,
  { change, live, before }: { readonly change: ChangedProcess; readonly live: ProcessesById; readonly before: Config },
): PlannedChange {
  const process = live.get(spec.id);
  if (process === undefined) return planAdded(spec, live, before);
  const effect = effectOf(change, definitionOf(old), {
    definition: definitionOf(spec),
    blocked: process.isBlocked,
    disabled: process.isDisabled,
    states: process.states,
  });
  const note =
    effect === "blocked"
      ? "; not restarted: it is blocked"
      : process.states.some(hasCurrentRun)
        ? ""
        : process.states.some(isAsleep)
          ? "; it sleeps"
          : "; it doesn't run";
  return plannedChange(spec.id, ACTIONS[effect], `${fieldsText(change.fields)}${note}`, change.fields);
}

type FollowerContext = {
  readonly live: ProcessesById;
  /** The new specifications, dependencies before their dependents. */
  readonly ordered: readonly ProcessSpec[];
  /** Ids that a rollout under way has yet to restart. */
  readonly pending: readonly string[];
};

/** The changes with those that follow from them. It decides as `Dependencies` does once the dependencies are up. */
function withFollowers(
  changes: readonly PlannedChange[],
  { live, ordered, pending }: FollowerContext,
): readonly PlannedChange[] {
  const planned = new Map(changes.map((change) => [change.process, change]));
  const renewed = new Set(
    changes.filter(({ action }) => action === "start" || action === "restart").map(({ process }) => process),
  );
  for (const spec of ordered) {
    const change = planned.get(spec.id);
    const process = live.get(spec.id);
    if (
      change === undefined ||
      process === undefined ||
      renewed.has(spec.id) ||
      !isStartingOrRunning(process.states[0])
    )
      continue;
    const followed = followedBy(spec, process, { live, renewed });
    if (followed === undefined && !pending.includes(spec.id)) continue;
    if (!process.isBlocked) renewed.add(spec.id);
    planned.set(spec.id, followUp(change, followed, process.isBlocked));
  }
  return changes.map((change) => planned.get(change.process) ?? change);
}

/** The dependency whose runs will all have begun after the process's run, because of the reload. */
function followedBy(
  spec: ProcessSpec,
  process: Process,
  { live, renewed }: Pick<FollowerContext, "live"> & { readonly renewed: ReadonlySet<string> },
): string | undefined {
  const { dependsOn = [] } = definitionOf(spec);
  const isFollowed = ({ id, restart, members }: Dependency): boolean => {
    const before = process.definition.dependsOn?.find((dependency) => dependency.id === id);
    // Runs that a dependency had before it was declared don't count.
    const since = (before?.restart === true ? process.followsSince(id) : undefined) ?? Number.MAX_VALUE;
    const starts = members.map((member) =>
      renewed.has(member) ? [Number.POSITIVE_INFINITY] : startsOf(live.get(member)?.states ?? []),
    );
    const isSmaller = before?.members.some((member) => !members.includes(member)) === true;
    return restart && areYounger(starts.flat(), since) && (isSmaller || members.some((member) => renewed.has(member)));
  };
  return dependsOn.find(isFollowed)?.id;
}

function followUp(change: PlannedChange, followed: string | undefined, isBlocked: boolean): PlannedChange {
  const dependency = followed === undefined ? "what it depends on" : `${followed}, on which it depends`;
  const why = isBlocked ? `is not restarted with ${dependency}: it is blocked` : `restarts with ${dependency}`;
  const reason = change.action === "none" ? why : `${change.reason}; ${why}`;
  return { ...change, reason, ...(!isBlocked && { action: "restart" }) };
}

/** Marks instances of clusters of several, which keep serving, and processes that are restarted with what they depend on, once. */
function markRolling(
  changes: readonly PlannedChange[],
  { previous, now }: { readonly previous: ReadonlyMap<string, ProcessSpec>; readonly now: Config },
): readonly PlannedChange[] {
  const counts = new Map<string, number>();
  for (const { cluster } of now.processes)
    if (cluster !== undefined) counts.set(cluster.id, (counts.get(cluster.id) ?? 0) + 1);
  const isInstance = ({ id, cluster }: ProcessSpec): boolean =>
    cluster !== undefined && previous.get(id)?.cluster?.id === cluster.id && (counts.get(cluster.id) ?? 0) > 1;
  const restarts = new Set(changes.filter(({ action }) => action === "restart").map(({ process }) => process));
  const later = new Set<string>();
  for (const spec of inDependencyOrder(now)) {
    const follows =
      spec.dependsOn?.some(({ restart, members }) => restart && members.some((member) => later.has(member))) === true;
    if (follows || (restarts.has(spec.id) && isInstance(spec))) later.add(spec.id);
  }
  return changes.map((change) =>
    restarts.has(change.process) && later.has(change.process) ? { ...change, rolling: true } : change,
  );
}

function inDependencyOrder({ processes }: Config): readonly ProcessSpec[] {
  const specs = new Map(processes.map((spec) => [spec.id, spec]));
  return inStartOrder(processes, (id) => specs.get(id));
}

const VERBS: Readonly<Record<PlannedAction, string>> = {
  start: "starts",
  stop: "is stopped",
  restart: "restarts",
  "in-place": "changes without a restart",
  none: "",
};

/** "web restarts, db starts, 198 unchanged" */
export function summary({ processes, settings }: PlanRecord): string {
  const done = processes.filter(({ action }) => action !== "none");
  const listed = done.slice(0, 10).map(({ process, action }) => `${process} ${VERBS[action]}`);
  const more = done.length > listed.length ? [`${done.length - listed.length} more`] : [];
  const fields = settings.filter(({ takesEffect }) => takesEffect === "in-place").map(({ field }) => field);
  const rest = processes.length - done.length;
  return (
    [...listed, ...more, ...fields, ...(rest === 0 ? [] : [`${rest} unchanged`])].join(", ") || "nothing has changed"
  );
}

/** For rollouts that change ports, as from 3000 to 3001: an instance comes after the one that has its new port; otherwise the order stays. */
function orderByPorts(ids: readonly string[], before: Config, now: Config): readonly string[] {
  const taken = portsIn(now);
  const holders = new Map([...portsIn(before)].filter(([id]) => ids.includes(id)).map(([id, port]) => [port, id]));
  const isFree = (id: string): boolean => [undefined, id].includes(holders.get(taken.get(id) ?? 0));
  const rest: string[] = [...ids];
  const sorted: string[] = [];
  while (rest.length > 0) {
    // If instances swap ports, none is free: take the first.
    const [next = ""] = rest.splice(Math.max(0, rest.findIndex(isFree)), 1);
    for (const [port, id] of holders) if (id === next) holders.delete(port);
    sorted.push(next);
  }
  return sorted;
}

function portsIn({ processes }: Config): ReadonlyMap<string, number> {
  return new Map(
    processes.flatMap(({ id, cluster }) => (cluster?.port === undefined ? [] : [[id, cluster.port] as const])),
  );
}

/** `pending`: ids of a rollout under way. `isFirst`: it begins with this step. `failed`: the instance that the way back begins with. */
type NextStepContext = {
  readonly before: Config;
  readonly now: Config;
  readonly pending: readonly string[];
  readonly isFirst: boolean;
  readonly failed: string | undefined;
};

/** The step that follows: what is awaited after it, and what stays as it was. */
export function nextStep(
  plan: PlanRecord,
  { before, now, pending, isFirst, failed }: NextStepContext,
): { readonly current: readonly string[]; readonly pending: readonly string[] } {
  const rest = orderByPorts(rollingIds(plan, now, pending), before, now);
  const instances = isFirst ? replacingInstances(plan, before, now) : [];
  // A process that becomes a cluster serves until the instances are up.
  if (instances.length > 0)
    return {
      current: instances.map(({ id }) => id),
      pending: [...rest, ...new Set(instances.flatMap(({ front }) => front?.id ?? []))],
    };
  const [first, ...others] =
    failed !== undefined && rest.includes(failed) ? [failed, ...rest.filter((id) => id !== failed)] : rest;
  return first === undefined ? { current: [], pending: [] } : { current: [first], pending: others };
}

/** The instances that take the place of a process which becomes a cluster with a common port. */
function replacingInstances({ processes }: PlanRecord, before: Config, now: Config): readonly ProcessSpec[] {
  const idsOf = (wanted: PlannedAction): ReadonlySet<string> =>
    new Set(processes.flatMap(({ process, action }) => (action === wanted ? [process] : [])));
  const [stopped, started] = [idsOf("stop"), idsOf("start")];
  const single = new Set(before.processes.flatMap(({ id, cluster }) => (cluster === undefined ? [id] : [])));
  return now.processes.filter(
    ({ id, front }) => front !== undefined && started.has(id) && stopped.has(front.id) && single.has(front.id),
  );
}

export function profileChange({ profile: before }: Config, { profile }: Config): readonly string[] {
  if (profile === before) return [];
  return [profile === undefined ? "without a profile" : `with the profile "${profile}"`];
}

/** Clusters whose instances are restarted one after another. */
export function clustersIn(config: Config, plan: PlanRecord): readonly string[] {
  const ids = new Set(rollingIds(plan, config));
  return [
    ...new Set(
      config.processes.flatMap(({ id, cluster }) => (ids.has(id) && cluster !== undefined ? [cluster.id] : [])),
    ),
  ];
}
