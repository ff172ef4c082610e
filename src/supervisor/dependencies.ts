/** Who depends on whom: who may start, whose stop must wait, who is to follow a restart. */
import type { Dependency, Plan } from "./plan.ts";
import type { Process } from "./process.ts";
import type { Instance } from "./states.ts";

type Find = (id: string) => Process | undefined;

/** What is not fulfilled yet. */
function unmet({ dependsOn = [] }: Plan, find: Find): readonly Dependency[] {
  return dependsOn.filter((dependency) => !isMet(dependency, find));
}

function isMet({ condition, members }: Dependency, find: Find): boolean {
  if (condition === "finished") return members.every((id) => hasFinished(find(id)?.states[0]));
  return members.some((id) => find(id)?.states.some((state) => state.status === "running" && (condition === "started" || state.ready)));
}

function hasFinished(state: Instance | undefined): boolean {
  return state?.status === "idle" && state.outcome.kind === "finished";
}

export class Dependencies {
  readonly #find: Find;
  readonly #isToCome: (id: string) => boolean;
  #plans = new Map<string, Plan>();
  #dependents = new Map<string, readonly string[]>();
  readonly #touched = new Set<string>();
  #isLooking = false;

  /** `isToCome`: it is going to be restarted anyway. */
  constructor(find: Find, isToCome: (id: string) => boolean = () => false) {
    this.#find = find;
    this.#isToCome = isToCome;
  }

  /** Dependents of a plan that is gone count until it is. */
  set(plans: readonly Plan[]): void {
    this.#plans = new Map(plans.map((plan) => [plan.id, plan]));
    const dependents = new Map<string, string[]>();
    for (const { id, dependsOn = [] } of plans)
      for (const member of dependsOn.flatMap(({ members }) => members)) dependents.set(member, [...(dependents.get(member) ?? []), id]);
    this.#dependents = dependents;
  }

  unmetBy(id: string): readonly Dependency[] {
    const plan = this.#plans.get(id);
    return plan === undefined ? [] : unmet(plan, this.#find);
  }

  /** Whoever depends on this one and is on its way down, for good: their end is waited for. */
  holding(id: string): readonly string[] {
    return (this.#dependents.get(id) ?? []).filter((dependent) => this.#find(dependent)?.states.some(isGoing));
  }

  /** Dependents before those that they depend on; the last ones first where that says nothing. */
  inStopOrder(processes: readonly Process[]): readonly Process[] {
    const wanted = new Map(processes.map((process) => [process.id, process]));
    const ordered = new Set<Process>();
    const seen = new Set<string>();
    const visit = (id: string): void => {
      if (seen.has(id)) return;
      seen.add(id);
      for (const dependent of this.#dependents.get(id) ?? []) visit(dependent);
      const process = wanted.get(id);
      if (process !== undefined) ordered.add(process);
    };
    for (const { id } of processes.toReversed()) visit(id);
    return [...ordered];
  }

  /** All may have changed. */
  look(): void {
    for (const id of this.#plans.keys()) this.#touched.add(id);
    for (const id of this.#dependents.keys()) this.#touched.add(id);
    this.#work();
  }

  /** The state of a process is another one: it, and whoever it concerns, may go on. In one go, however long the chain. */
  touch(id: string): void {
    this.#touched.add(id);
    for (const dependent of this.#dependents.get(id) ?? []) this.#touched.add(dependent);
    for (const { members } of this.#plans.get(id)?.dependsOn ?? []) for (const member of members) this.#touched.add(member);
    this.#work();
  }

  #work(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const id of this.#touched) {
        this.#touched.delete(id);
        this.#settle(id);
      }
    } finally {
      this.#isLooking = false;
    }
  }

  #settle(id: string): void {
    const process = this.#find(id);
    if (process === undefined) return;
    const { states } = process;
    if (states.some(({ status }) => status === "waiting") && this.unmetBy(id).length === 0) process.goOn("dependencies-ready");
    if (states.some(isHeld) && this.holding(id).length === 0) process.goOn("dependents-gone");
    const renewed = this.#renewed(id, states[0]);
    if (renewed !== undefined && !this.#isToCome(id)) process.follow(renewed.id);
  }

  /** A dependency that is younger than the run that depends on it. */
  #renewed(id: string, state: Instance | undefined): Dependency | undefined {
    if (state?.status !== "running") return undefined;
    const isYounger = ({ restart, members }: Dependency): boolean => {
      const states = restart ? members.flatMap((member) => this.#find(member)?.states ?? []) : [];
      const since = states.flatMap((each) => (each.status === "running" ? each.since : []));
      return since.length > 0 && Math.min(...since) > state.since && !states.some(isComing);
    };
    return (this.#plans.get(id)?.dependsOn ?? []).find((dependency) => isYounger(dependency) && isMet(dependency, this.#find));
  }
}

function isGoing(state: Instance): boolean {
  return state.status === "stopping" && state.next === "idle";
}

/** It will run in a moment, by itself: who is to follow all of a cluster waits for it. */
function isComing(state: Instance): boolean {
  return state.status === "starting" || (state.status === "stopping" && state.next === "start");
}

function isHeld(state: Instance): boolean {
  return state.status === "stopping" && state.phase === "held";
}
