/** Dependencies between processes: which may start, which stop must wait, which follow a restart. */
import { type Dependency, isAboutEnd, type ProcessDefinition } from "./definition.ts";
import type { Process } from "./process.ts";
import type { SlotState } from "./states.ts";
import {
  hasCompleted,
  hasFailed,
  hasFinished,
  isAsleep,
  isBeingStopped,
  isComing,
  isDown,
  isReady,
  isRunning,
  isStartingOrRunning,
  isUnready,
  isWaiting,
  waitsForDependents,
} from "./verdict.ts";

type FindProcess = (id: string) => Process | undefined;

/** Why a process can't start: `path` leads from its dependency to the one in the way, of which these members are. */
export type Obstacle = { readonly path: readonly string[]; readonly members: readonly string[] };

/** Dependencies that are not fulfilled yet. */
function unmet({ dependsOn = [] }: ProcessDefinition, find: FindProcess): readonly Dependency[] {
  return dependsOn.filter((dependency) => !isMet(dependency, find));
}

function isMet({ condition, members }: Dependency, find: FindProcess): boolean {
  if (condition === "finished") return members.every((id) => hasFinished(find(id)?.states[0]));
  if (condition === "completed") return members.every((id) => hasCompleted(find(id)?.states[0]));
  const isUp = condition === "started" ? isRunning : isReady;
  const isElsewise = (process: Process, state: SlotState): boolean =>
    // A job that has done its work was started, too.
    condition === "started" ? hasFinished(state) : condition === "reachable" && process.isDormant && isAsleep(state);
  return members.some((id) => {
    const process = find(id);
    return process?.states.some((state) => isUp(state) || isElsewise(process, state)) === true;
  });
}

export class Dependencies {
  readonly #find: FindProcess;
  readonly #hasPendingRestart: (id: string) => boolean;
  #definitions = new Map<string, ProcessDefinition>();
  #dependents = new Map<string, readonly string[]>();
  readonly #touched = new Set<string>();
  #isWorking = false;

  /** `hasPendingRestart`: whether a rollout or rolling restart will restart the process. */
  constructor(find: FindProcess, hasPendingRestart: (id: string) => boolean = () => false) {
    this.#find = find;
    this.#hasPendingRestart = hasPendingRestart;
  }

  /** Dependents of a removed process count until it is gone. */
  set(definitions: readonly ProcessDefinition[]): void {
    this.#definitions = new Map(definitions.map((definition) => [definition.id, definition]));
    const dependents = new Map<string, string[]>();
    for (const { id, dependsOn = [] } of definitions)
      for (const member of dependsOn.flatMap(({ members }) => members))
        dependents.set(member, [...(dependents.get(member) ?? []), id]);
    this.#dependents = dependents;
  }

  unmetBy(id: string): readonly Dependency[] {
    const definition = this.#definitions.get(id);
    return definition === undefined ? [] : unmet(definition, this.#find);
  }

  /** What must be started so that these can start: of their unmet dependencies, also indirect ones, those that don't run. */
  toStartFor(ids: readonly string[]): readonly Process[] {
    const needed = new Set<string>();
    const pending = [...ids];
    for (const id of pending)
      for (const member of this.unmetBy(id).flatMap(({ members }) => members)) {
        if (needed.has(member)) continue;
        needed.add(member);
        pending.push(member);
      }
    return [...needed].flatMap((id) => {
      const process = this.#find(id);
      return process?.states.every(isDown) ? [process] : [];
    });
  }

  /** Why a process that waits can't start any more by itself: a dependency has failed permanently, or can't start for such a reason, too. */
  lossOf(id: string): Obstacle | undefined {
    return this.#obstacleOf(id, hasFailedForGood, new Map());
  }

  /** The dependency for which a process waits although nothing starts it by itself. */
  restOf(id: string): Obstacle | undefined {
    return this.#obstacleOf(id, isAtRest, new Map());
  }

  #obstacleOf(
    id: string,
    isOut: (process: Process | undefined) => boolean,
    known: Map<string, Obstacle | undefined>,
  ): Obstacle | undefined {
    if (known.has(id)) return known.get(id);
    known.set(id, undefined);
    const through = ({ id: dependency, condition, members }: Dependency): Obstacle | undefined => {
      const out = members.filter((member) => isOut(this.#find(member)));
      const obstacles = new Map(members.map((member) => [member, this.#obstacleOf(member, isOut, known)]));
      const isBlocked = (member: string): boolean => out.includes(member) || obstacles.get(member) !== undefined;
      if (!(isAboutEnd(condition) ? members.some(isBlocked) : members.every(isBlocked))) return undefined;
      if (out.length > 0) return { path: [dependency], members: out };
      const further = [...obstacles.values()].find((obstacle) => obstacle !== undefined);
      return further === undefined ? undefined : { path: [dependency, ...further.path], members: further.members };
    };
    if (this.#find(id)?.states.some(isWaiting))
      known.set(
        id,
        this.unmetBy(id)
          .map(through)
          .find((obstacle) => obstacle !== undefined),
      );
    return known.get(id);
  }

  /** Whether its run will be restarted because a dependency is being restarted, or the dependency's own dependency. */
  willFollow(id: string, visited = new Set<string>()): boolean {
    if (visited.has(id)) return false;
    visited.add(id);
    const process = this.#find(id);
    if (process === undefined || process.isBlocked || process.followsSince(id) === undefined) return false;
    const isDue = (dependency: Dependency): boolean =>
      this.#isRenewed(process, dependency) ||
      (dependency.restart && dependency.members.some((member) => this.#isComing(member, visited)));
    return (this.#definitions.get(id)?.dependsOn ?? []).some(isDue);
  }

  /** Whether a start or restart is pending, perhaps behind its own dependencies. */
  #isComing(id: string, visited: Set<string>): boolean {
    const states = this.#find(id)?.states ?? [];
    if (states.some(isComing) || this.willFollow(id, visited)) return true;
    const canCome = (member: string): boolean =>
      (this.#find(member)?.states.some(isUnready) ?? false) || this.#isComing(member, visited);
    return states.some(isWaiting) && this.unmetBy(id).every(({ members }) => members.some(canCome));
  }

  /** Processes that depend on this one and are being stopped: they must exit first. */
  runningDependents(id: string): readonly string[] {
    return (this.#dependents.get(id) ?? []).filter((dependent) => this.#find(dependent)?.states.some(isBeingStopped));
  }

  /** Dependents before their dependencies; otherwise in reverse order. */
  inStopOrder(processes: readonly Process[]): readonly Process[] {
    const byId = new Map(processes.map((process) => [process.id, process]));
    const ordered = new Set<Process>();
    const visited = new Set<string>();
    const visit = (id: string): void => {
      if (visited.has(id)) return;
      visited.add(id);
      for (const dependent of this.#dependents.get(id) ?? []) visit(dependent);
      const process = byId.get(id);
      if (process !== undefined) ordered.add(process);
    };
    for (const { id } of processes.toReversed()) visit(id);
    return [...ordered];
  }

  /** Re-evaluates all processes. */
  reevaluate(): void {
    for (const id of this.#definitions.keys()) this.#touched.add(id);
    for (const id of this.#dependents.keys()) this.#touched.add(id);
    this.#processTouched();
  }

  /** Re-evaluates a process whose state has changed, its dependents and its dependencies. A loop, so long chains don't recurse. */
  touch(id: string): void {
    this.#touched.add(id);
    for (const dependent of this.#dependents.get(id) ?? []) this.#touched.add(dependent);
    for (const { members } of this.#definitions.get(id)?.dependsOn ?? [])
      for (const member of members) this.#touched.add(member);
    this.#processTouched();
  }

  #processTouched(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    try {
      for (const id of this.#touched) {
        this.#touched.delete(id);
        this.#evaluate(id);
      }
    } finally {
      this.#isWorking = false;
    }
  }

  #evaluate(id: string): void {
    const process = this.#find(id);
    if (process === undefined) return;
    const { states } = process;
    if (states.some(isWaiting)) this.#continueStart(process);
    if (states.some(waitsForDependents) && this.runningDependents(id).length === 0) process.resume("dependents-gone");
    const isDue = (dependency: Dependency): boolean =>
      this.#isRenewed(process, dependency) && isMet(dependency, this.#find);
    const renewed = this.#definitions.get(id)?.dependsOn?.find(isDue);
    if (renewed !== undefined && !this.#hasPendingRestart(id)) process.restartWithDependency(renewed.id);
  }

  /** What sleeps is woken by those that need it. */
  #continueStart(process: Process): void {
    const unmetNow = this.unmetBy(process.id);
    if (unmetNow.length === 0) return process.resume("dependencies-ready");
    for (const { condition, members } of unmetNow)
      if (!isAboutEnd(condition)) for (const member of members) this.#find(member)?.wake(process.id);
  }

  /** Whether the dependency was restarted after this run began. */
  #isRenewed(process: Process, { id, restart, members }: Dependency): boolean {
    const since = process.followsSince(id);
    if (!restart || since === undefined) return false;
    const states = members.flatMap((member) => this.#find(member)?.states ?? []);
    // Dependents of a cluster wait until all its instances are back.
    return areYounger(startsOf(states), since) && !states.some(isComing);
  }
}

/** When the runs of a dependency began; monotonic milliseconds. Infinity: one is about to begin. */
export function startsOf(states: readonly SlotState[]): readonly number[] {
  return states.filter(isStartingOrRunning).map((state) => (isRunning(state) ? state.since : Number.POSITIVE_INFINITY));
}

/** Whether a process that follows a dependency restarts: the dependency has runs, and all of them begin after `since`. */
export function areYounger(starts: readonly number[], since: number): boolean {
  return starts.length > 0 && Math.min(...starts) > since;
}

/** Its policy has given up, and no schedule starts it again. */
function hasFailedForGood(process: Process | undefined): boolean {
  return process !== undefined && !process.isBlocked && isAtRest(process) && process.states.some(hasFailed);
}

/** Whether the process doesn't run, and neither policy nor schedule starts it. */
function isAtRest(process: Process | undefined): boolean {
  if (process === undefined) return false;
  return process.isIdle && process.next("start") === undefined;
}

type FindDependencies = (id: string) => { readonly dependsOn?: readonly Dependency[] | undefined } | undefined;

/** Dependencies before their dependents, including indirect ones; otherwise the order stays. */
export function inStartOrder<T extends { readonly id: string }>(
  processes: readonly T[],
  find: FindDependencies,
): readonly T[] {
  const byId = new Map(processes.map((process) => [process.id, process]));
  const ordered: T[] = [];
  const visited = new Set<string>();
  const visit = (id: string): void => {
    if (visited.has(id)) return;
    visited.add(id);
    for (const { members } of find(id)?.dependsOn ?? []) for (const member of members) visit(member);
    const process = byId.get(id);
    if (process !== undefined) ordered.push(process);
  };
  for (const id of byId.keys()) visit(id);
  return ordered;
}
