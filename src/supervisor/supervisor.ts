/** The registry of all processes: takes commands by id, starts in order, stops in reverse. */
import { ProcmanError } from "../base/errors.ts";
import { type Memory, type Plan, Process, type ProcessPorts } from "./process.ts";

export class Supervisor {
  readonly #ports: ProcessPorts;
  readonly #processes = new Map<string, Process>();
  readonly #idle = new Set<() => void>();

  constructor(ports: ProcessPorts) {
    this.#ports = {
      ...ports,
      publish: (transition) => {
        ports.publish(transition);
        if (transition.to.status === "idle") this.#onIdle();
      },
    };
  }

  get processes(): readonly Process[] {
    return [...this.#processes.values()];
  }

  /** Takes up all processes; those that an earlier service left running go on, the others start by their policy. */
  apply(plans: readonly Plan[], memories: ReadonlyMap<string, Memory> = new Map()): void {
    for (const plan of plans) this.#processes.set(plan.id, new Process(plan, this.#ports, memories.get(plan.id)));
    for (const plan of plans) if (plan.autostart && !memories.has(plan.id)) this.#processes.get(plan.id)?.startIfAllowed();
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
    for (const process of processes.toReversed()) process.stop();
    if (processes.some(({ isIdle }) => !isIdle)) await new Promise<void>((resolve) => this.#idle.add(resolve));
  }

  #onIdle(): void {
    if (this.#idle.size === 0 || this.processes.some(({ isIdle }) => !isIdle)) return;
    for (const resolve of this.#idle) resolve();
    this.#idle.clear();
  }
}
