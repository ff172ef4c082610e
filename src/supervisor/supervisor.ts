/** The registry of all processes: takes commands by id, starts in order, stops in reverse. */
import { ProcmanError } from "../base/errors.ts";
import type { Change } from "./change.ts";
import { Dependencies } from "./dependencies.ts";
import type { Memory } from "./memory.ts";
import { inStartOrder } from "./order.ts";
import type { Dependency, Plan } from "./plan.ts";
import { Process } from "./process.ts";
import type { ProcessPorts } from "./process-ports.ts";
import type { Instance } from "./states.ts";

export type SupervisorPorts = Omit<ProcessPorts, "holds"> & {
  /** A process that the plans no longer have is over and forgotten. */
  readonly removed: (id: string) => void;
  /** A roll is going to restart it in its turn, so it need not follow what it depends on. When that is so no longer: `look`. */
  readonly isToCome?: (id: string) => boolean;
  /** At a first start, of each in turn: what was decided for it need not wait for the others. */
  readonly begun?: (id: string) => void;
};

export class Supervisor {
  readonly #ports: SupervisorPorts & ProcessPorts;
  readonly #dependencies: Dependencies;
  #processes = new Map<string, Process>();
  /** Processes that no plan has any more, until they have ended. */
  readonly #leaving = new Set<string>();
  readonly #idle = new Set<() => void>();
  readonly #watchers = new Set<() => void>();

  constructor(ports: SupervisorPorts) {
    this.#dependencies = new Dependencies((id) => this.#processes.get(id), ports.isToCome);
    this.#ports = {
      ...ports,
      holds: (id) => this.#dependencies.holding(id).length > 0,
      notice: (id, notice) => {
        ports.notice(id, notice);
        // What it depends on may have been started anew meanwhile.
        if (notice.type === "unblocked") this.#dependencies.touch(id);
      },
      publish: (transition) => {
        ports.publish(transition);
        for (const call of this.#watchers) call();
        this.#dependencies.touch(transition.slot.split(":", 1)[0] as string);
        if (transition.to.status === "idle") this.#onIdle();
      },
    };
  }

  get processes(): readonly Process[] {
    return [...this.#processes.values()];
  }

  /**
   * Takes up what an earlier service left, by the plans that it had: each process is as it was. Those in `leaving` were about
   * to be stopped for good. `apply` follows, with the plans of now.
   */
  resume(plans: readonly Plan[], memories: ReadonlyMap<string, Memory>, leaving: ReadonlySet<string> = new Set()): void {
    this.#dependencies.set(plans);
    for (const plan of plans) {
      const memory = memories.get(plan.id);
      if (memory === undefined || this.#processes.has(plan.id)) continue;
      const process = new Process(plan, this.#ports, memory);
      this.#processes.set(plan.id, process);
      if (leaving.has(plan.id)) this.#dismiss(process);
    }
  }

  /** From the plans of before (at the start: none) to these: who is missing is stopped, who is new starts by its policy. */
  apply(plans: readonly Plan[], changes: ReadonlyMap<string, Change> = new Map()): void {
    const before = this.#processes;
    const isFirst = before.size === 0;
    const wanted = new Set(plans.map(({ id }) => id));
    const fresh = plans.filter(({ id }) => !before.has(id) || this.#leaving.has(id));
    const gone = [...before.values()].filter(({ id }) => !wanted.has(id));
    this.#processes = new Map(plans.map((plan) => [plan.id, before.get(plan.id) ?? new Process(plan, this.#ports)]));
    for (const process of gone) this.#processes.set(process.id, process);
    for (const process of this.#dependencies.inStopOrder(gone)) this.#remove(process);
    // Those on their way out still end before those that they depend on.
    this.#dependencies.set([...plans, ...gone.map(({ plan }) => plan)]);
    const present = new Map(plans.map((plan) => [plan.id, plan]));
    for (const plan of inStartOrder(plans, (id) => present.get(id))) this.#update(plan, changes.get(plan.id));
    for (const { id, autostart } of fresh) {
      if (!autostart) continue;
      this.#processes.get(id)?.startIfAllowed();
      if (isFirst) this.#ports.begun?.(id);
    }
    this.#dependencies.look();
  }

  /** None of a process that there isn't. */
  statesOf(id: string): readonly Instance[] {
    return this.#processes.get(id)?.states ?? [];
  }

  /** @throws ProcmanError `process-unknown` */
  find(id: string): Process {
    const found = this.#processes.get(id);
    if (found === undefined) throw new ProcmanError("process-unknown", `Cannot find process "${id}": there is none of this id`);
    return found;
  }

  /** Stops everything, last started first; resolves when no process is left. */
  async stopAll(): Promise<void> {
    const { processes } = this;
    for (const process of processes) process.retire();
    for (const process of this.inStopOrder(processes)) process.stop();
    this.#dependencies.look();
    if (processes.some(({ isIdle }) => !isIdle)) await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  /** Whoever depends on others before those. */
  inStopOrder(processes: readonly Process[]): readonly Process[] {
    return this.#dependencies.inStopOrder(processes);
  }

  /** Whoever depends on others after those: else it would start by what is about to be restarted, and follow that once more. */
  inStartOrder(processes: readonly Process[]): readonly Process[] {
    return inStartOrder(processes, (id) => this.#processes.get(id)?.plan);
  }

  /** Whoever may go on does so. */
  look(): void {
    this.#dependencies.look();
  }

  /** What this one waits for before it starts. */
  unmetBy(id: string): readonly Dependency[] {
    return this.#dependencies.unmetBy(id);
  }

  /** Who ends before this one does. */
  holding(id: string): readonly string[] {
    return this.#dependencies.holding(id);
  }

  /** Calls after each transition, until the function that it returns is called. */
  watch(call: () => void): () => void {
    this.#watchers.add(call);
    return () => this.#watchers.delete(call);
  }

  /** Drops all timers and takes no part any more; what runs goes on. */
  dispose(): void {
    for (const process of this.processes) process.dispose();
  }

  #update(plan: Plan, change: Change | undefined): void {
    const isBack = this.#leaving.delete(plan.id);
    if (isBack || change !== undefined) this.#processes.get(plan.id)?.update(plan, isBack ? undefined : change);
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
    // One that has just become idle is forgotten already.
    if (process.isIdle && this.#leaving.has(process.id)) this.#forget(process.id);
  }

  #forget(id: string): void {
    this.#leaving.delete(id);
    this.#processes.delete(id);
    this.#ports.spawner.forget(id);
    this.#ports.removed(id);
  }

  #onIdle(): void {
    for (const id of [...this.#leaving]) if (this.#processes.get(id)?.isIdle) this.#forget(id);
    if (this.#idle.size === 0 || this.processes.some(({ isIdle }) => !isIdle)) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}
