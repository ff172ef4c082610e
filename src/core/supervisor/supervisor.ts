/** The registry of all processes: takes commands by id, starts in order, stops in reverse order. */
import { ProcmanError } from "../base/errors.ts";
import type { Change, Dependency, ProcessDefinition } from "./definition.ts";
import { Dependencies, inStartOrder, type Obstacle } from "./dependencies.ts";
import { Process } from "./process.ts";
import type { ProcessPorts } from "./process-ports.ts";
import { type HealthHold, healthHold, inheritedSnapshot, isAllUnhealthy, isStopped } from "./siblings.ts";
import type { Transition } from "./slot.ts";
import type { ProcessSnapshot } from "./snapshot.ts";
import type { SlotState } from "./states.ts";
import { isIdle, isRunning, isUnhealthy } from "./verdict.ts";

export type SupervisorPorts = Omit<ProcessPorts, "hasRunningDependents" | "healthHold"> & {
  /** A removed process has exited and was forgotten. */
  readonly removed: (id: string) => void;
  /** Whether a rollout or rolling restart will restart the process: then a restarted dependency does not restart it. Call `reevaluate` when the answer changes. */
  readonly hasPendingRestart?: (id: string) => boolean;
};

export class Supervisor {
  readonly #ports: SupervisorPorts & ProcessPorts;
  readonly #dependencies: Dependencies;
  #processes = new Map<string, Process>();
  /** Processes that were removed from the configuration and have not exited yet. */
  readonly #leaving = new Set<string>();
  /** For each `stopAll` under way, its processes that are not idle yet. */
  readonly #stops = new Map<Set<string>, () => void>();
  readonly #watchers = new Set<() => void>();

  constructor(ports: SupervisorPorts) {
    this.#dependencies = new Dependencies((id) => this.#processes.get(id), ports.hasPendingRestart);
    this.#ports = {
      ...ports,
      hasRunningDependents: (id) => this.#dependencies.runningDependents(id).length > 0,
      healthHold: (id) => this.healthHold(id),
      notice: (id, notice) => {
        ports.notice(id, notice);
        // A dependency may have been restarted meanwhile.
        if (notice.type === "unblocked" || notice.type === "enabled") this.#dependencies.touch(id);
      },
      publish: (transition) => {
        ports.publish(transition);
        for (const call of this.#watchers) call();
        const id = transition.slot.split(":", 1)[0] as string;
        this.#dependencies.touch(id);
        if (isHealthyAgain(transition)) for (const other of this.#siblings(id)) other.endHealthBackoff();
        if (isIdle(transition.to)) this.#onIdle(id);
      },
    };
  }

  get processes(): readonly Process[] {
    return [...this.#processes.values()];
  }

  /**
   * Restores the state of a previous service under its own definitions. Processes in `leaving` were being removed. The
   * caller then calls `apply` with the current definitions.
   */
  resume(
    definitions: readonly ProcessDefinition[],
    snapshots: ReadonlyMap<string, ProcessSnapshot>,
    leaving: ReadonlySet<string> = new Set(),
  ): void {
    this.#dependencies.set(definitions);
    for (const definition of definitions) {
      const snapshot = snapshots.get(definition.id);
      if (snapshot === undefined || this.#processes.has(definition.id)) continue;
      const process = new Process(definition, this.#ports, snapshot);
      this.#processes.set(definition.id, process);
      if (leaving.has(definition.id)) this.#dismiss(process);
    }
  }

  /** Applies new definitions (at the start, the first ones): missing processes are stopped, new ones start by their policy. */
  apply(definitions: readonly ProcessDefinition[], changes: ReadonlyMap<string, Change> = new Map()): void {
    const before = this.#processes;
    const ids = new Set(definitions.map(({ id }) => id));
    const fresh = definitions.filter(({ id }) => !before.has(id) || this.#leaving.has(id));
    const removed = [...before.values()].filter(({ id }) => !ids.has(id));
    const others = new Map(fresh.map(({ id, cluster }) => [id, this.#processesOf(cluster ?? id)]));
    const created = (definition: ProcessDefinition): Process =>
      new Process(definition, this.#ports, inheritedSnapshot(definition.id, others.get(definition.id) ?? []));
    this.#processes = new Map(
      definitions.map((definition) => [definition.id, before.get(definition.id) ?? created(definition)]),
    );
    for (const process of removed) this.#processes.set(process.id, process);
    for (const process of this.#dependencies.inStopOrder(removed)) this.#remove(process);
    // Removed processes still exit before those that they depend on.
    this.#dependencies.set([...definitions, ...removed.map(({ definition }) => definition)]);
    const present = new Map(definitions.map((definition) => [definition.id, definition]));
    for (const definition of inStartOrder(definitions, (id) => present.get(id)))
      this.#update(definition, changes.get(definition.id));
    for (const { id, autostart } of fresh) {
      const process = this.#processes.get(id);
      const siblings = others.get(id) ?? [];
      const areStopped = siblings.length > 0 && siblings.every(isStopped);
      // One that sleeps without clients serves at once where others do.
      const mayBeginAsleep = siblings.every(({ isIdle }) => isIdle);
      if (autostart && process?.isDisabled === false && !areStopped) process.startIfAllowed(mayBeginAsleep);
    }
    this.#dependencies.reevaluate();
  }

  /** Empty for an unknown process. */
  statesOf(id: string): readonly SlotState[] {
    return this.#processes.get(id)?.states ?? [];
  }

  /** Whether it is no longer in the configuration: it is being removed, or is gone. */
  isRemoved(process: Process): boolean {
    return this.#leaving.has(process.id) || this.#processes.get(process.id) !== process;
  }

  /** @throws ProcmanError `process-unknown` */
  find(id: string): Process {
    const found = this.#processes.get(id);
    if (found === undefined)
      throw new ProcmanError("process-unknown", `Cannot find process "${id}": no process has this id`);
    return found;
  }

  /** Stops everything in reverse order; resolves when no process is left. */
  async stopAll(): Promise<void> {
    const { processes } = this;
    for (const process of processes) process.retire();
    for (const process of this.inStopOrder(processes)) process.stop();
    this.#dependencies.reevaluate();
    const busy = new Set(processes.flatMap(({ id, isIdle }) => (isIdle ? [] : [id])));
    if (busy.size > 0) await new Promise<void>((resolve) => this.#stops.set(busy, resolve));
  }

  /** Dependents before their dependencies. */
  inStopOrder(processes: readonly Process[]): readonly Process[] {
    return this.#dependencies.inStopOrder(processes);
  }

  /** Dependencies before their dependents; otherwise a dependent would restart twice. */
  inStartOrder(processes: readonly Process[]): readonly Process[] {
    return inStartOrder(processes, (id) => this.#processes.get(id)?.definition);
  }

  /** Re-evaluates all processes that wait. */
  reevaluate(): void {
    this.#dependencies.reevaluate();
  }

  /** The dependencies that the process is waiting for. */
  unmetBy(id: string): readonly Dependency[] {
    return this.#dependencies.unmetBy(id);
  }

  /** What must be started so that these processes can start: unmet dependencies that don't run, also indirect ones. */
  toStartFor(processes: readonly Process[]): readonly Process[] {
    return this.#dependencies.toStartFor(processes.map(({ id }) => id));
  }

  /** Whether the process waits for one that has failed permanently. A later start of that one makes it wait again. */
  isSkipped(id: string): boolean {
    return this.lossOf(id) !== undefined;
  }

  /** Why the process is skipped; undefined: it isn't. */
  lossOf(id: string): Obstacle | undefined {
    return this.#dependencies.lossOf(id);
  }

  /** Whether its run will be restarted because of a dependency that is being restarted. */
  willFollow(id: string): boolean {
    return this.#dependencies.willFollow(id);
  }

  /** Why this unhealthy instance is not restarted; undefined: it may be. */
  healthHold(id: string): HealthHold | undefined {
    return healthHold(this.#siblings(id));
  }

  /** Whether no other instance of its cluster is healthy, though others run or are about to. */
  areOthersUnhealthy(id: string): boolean {
    return isAllUnhealthy(this.#siblings(id));
  }

  /** The dependents that must exit before this process. */
  runningDependents(id: string): readonly string[] {
    return this.#dependencies.runningDependents(id);
  }

  /** Calls back after each transition; the returned function unsubscribes. */
  watch(call: () => void): () => void {
    this.#watchers.add(call);
    return () => this.#watchers.delete(call);
  }

  /** Drops all timers and ignores all inputs; what is running keeps running. */
  dispose(): void {
    for (const process of this.processes) process.dispose();
  }

  /** The other instances of its cluster. */
  #siblings(id: string): readonly Process[] {
    return this.#processesOf(this.#processes.get(id)?.definition.cluster).filter((each) => each.id !== id);
  }

  /** The instances of a cluster, or the process of this id. */
  #processesOf(unit: string | undefined): readonly Process[] {
    return this.processes.filter(({ id, definition }) => (definition.cluster ?? id) === unit && !this.#leaving.has(id));
  }

  #update(definition: ProcessDefinition, change: Change | undefined): void {
    const isBack = this.#leaving.delete(definition.id);
    if (isBack || change !== undefined)
      this.#processes.get(definition.id)?.update(definition, isBack ? undefined : change);
  }

  #remove(process: Process): void {
    if (this.#leaving.has(process.id)) return;
    this.#ports.notice(process.id, { type: "removed", isIdle: process.isIdle });
    this.#dismiss(process);
  }

  #dismiss(process: Process): void {
    this.#leaving.add(process.id);
    process.retire();
    process.stop();
    // A process that has just become idle is forgotten already.
    if (process.isIdle && this.#leaving.has(process.id)) this.#dropProcess(process.id);
  }

  #dropProcess(id: string): void {
    this.#leaving.delete(id);
    this.#processes.delete(id);
    this.#ports.spawner.forget(id);
    this.#ports.removed(id);
  }

  #onIdle(id: string): void {
    if (this.#processes.get(id)?.isIdle !== true) return;
    if (this.#leaving.has(id)) this.#dropProcess(id);
    for (const [busy, resolve] of this.#stops) {
      busy.delete(id);
      if (busy.size > 0) continue;
      this.#stops.delete(busy);
      resolve();
    }
  }
}

function isHealthyAgain({ from, to }: Transition): boolean {
  return isUnhealthy(from) && isRunning(to) && to.healthy === true;
}
