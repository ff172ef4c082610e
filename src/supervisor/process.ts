/** One process of the configuration: its slots, its block, its schedules. */
import { ProcmanError } from "../base/errors.ts";
import type { Clock, Spawner } from "./ports.ts";
import type { Policy } from "./restart-policy.ts";
import { Schedule } from "./schedule.ts";
import { Slot, type Transition } from "./slot.ts";
import type { Instance, StopCause } from "./states.ts";

/** What the supervisor has to know of a process. */
export type Plan = {
  readonly id: string;
  readonly policy: Policy;
  readonly autostart: boolean;
  /** Whether a further run may start while one is under way. */
  readonly overrun: boolean;
  readonly cron?: string;
  /** Cron pattern of the times at which it is terminated. */
  readonly terminate?: string;
};

/** What the supervisor says of a process beside the transitions of its slots. */
export type Notice =
  | { readonly type: "blocked" | "unblocked" }
  | { readonly type: "scheduled" | "skipped" | "terminated"; readonly planned: number; readonly reason?: string };

export type ProcessPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly publish: (transition: Transition) => void;
  readonly notice: (id: string, notice: Notice) => void;
};

/** What an earlier service knew of a process. */
export type Memory = { readonly blocked: boolean; readonly slots: Readonly<Record<string, Instance>> };

export class Process {
  readonly plan: Plan;
  readonly #ports: ProcessPorts;
  readonly #slots: Slot[] = [];
  readonly #schedules: { readonly start?: Schedule; readonly terminate?: Schedule };
  #blocked: boolean;

  constructor(plan: Plan, ports: ProcessPorts, memory?: Memory) {
    this.plan = plan;
    this.#ports = ports;
    this.#blocked = memory?.blocked ?? false;
    for (const [id, state] of Object.entries(memory?.slots ?? {})) this.#addSlot(id, state);
    if (this.#slots.length === 0) this.#addSlot(plan.id);
    this.#schedules = {
      ...(plan.cron === undefined ? {} : { start: new Schedule(plan.cron, ports.clock, ({ planned }) => this.#onCron(planned)) }),
      ...(plan.terminate === undefined
        ? {}
        : { terminate: new Schedule(plan.terminate, ports.clock, ({ planned }) => this.#onTerminate(planned)) }),
    };
  }

  get id(): string {
    return this.plan.id;
  }

  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** The states of all slots; the first is the process's own, the others belong to overlapping runs. */
  get states(): readonly Instance[] {
    return this.#slots.map(({ state }) => state);
  }

  get isIdle(): boolean {
    return this.#slots.every(({ isFree }) => isFree);
  }

  /** Milliseconds since 1970. */
  get nextRun(): number | undefined {
    return this.#schedules.start?.next;
  }

  get nextTerminate(): number | undefined {
    return this.#schedules.terminate?.next;
  }

  /** @throws ProcmanError `process-blocked`, or `process-running` when it runs and `overrun` is off. */
  start(): void {
    if (this.#blocked) throw new ProcmanError("process-blocked", `Cannot start "${this.id}": it is blocked; unblock it first`);
    if (!this.#begin()) throw new ProcmanError("process-running", `Cannot start "${this.id}": it is running already`);
  }

  /** Start by `autostart` or a change of a watched file: what can't be started now stays as it is. */
  startIfAllowed(): void {
    if (!this.#blocked) this.#begin();
  }

  stop(): void {
    this.#end("idle", "operator");
  }

  /** Starts it when it is idle. @throws ProcmanError `process-blocked` */
  restart(): void {
    if (this.#blocked) throw new ProcmanError("process-blocked", `Cannot restart "${this.id}": it is blocked; unblock it first`);
    const [first, ...others] = this.#slots;
    for (const slot of others) slot.post({ type: "stop", next: "idle", cause: "operator" });
    first?.post({ type: "stop", next: "start", cause: "operator" });
  }

  /** No start by policy, cron or watch from now on; what runs goes on running. */
  block(): void {
    if (this.#blocked) return;
    this.#blocked = true;
    for (const slot of this.#slots) slot.post({ type: "cancel-restart" });
    this.#ports.notice(this.id, { type: "blocked" });
    this.#remember();
  }

  unblock(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#ports.notice(this.id, { type: "unblocked" });
    this.#remember();
  }

  /** No more schedules: the process is about to be stopped for good. */
  retire(): void {
    this.#schedules.start?.stop();
    this.#schedules.terminate?.stop();
  }

  #begin(): boolean {
    const slot = this.#slotForStart();
    slot?.post({ type: "start" });
    return slot !== undefined;
  }

  /** A free slot; without one a slot that is about to be free; with `overrun` a new one. */
  #slotForStart(): Slot | undefined {
    const free = this.#slots.find(({ state }) => state.status === "idle" || state.status === "backoff");
    if (free !== undefined) return free;
    if (this.plan.overrun) return this.#addSlot(`${this.id}:${this.#slots.length + 1}`);
    return this.#slots.find(({ state }) => state.status === "stopping");
  }

  #onCron(planned: number): void {
    const reason = this.#blocked
      ? "it is blocked"
      : this.#slotForStart() === undefined
        ? "its previous run is still under way and overrun is off"
        : undefined;
    if (reason !== undefined) return this.#ports.notice(this.id, { type: "skipped", planned, reason });
    this.#ports.notice(this.id, { type: "scheduled", planned });
    this.#begin();
  }

  #onTerminate(planned: number): void {
    if (this.isIdle) return;
    this.#ports.notice(this.id, { type: "terminated", planned });
    this.#end("policy", "terminate");
  }

  #end(next: "idle" | "policy", cause: StopCause): void {
    for (const slot of this.#slots) slot.post({ type: "stop", next, cause });
  }

  #addSlot(id: string, state?: Instance): Slot {
    const slot = new Slot(
      id,
      {
        clock: this.#ports.clock,
        spawner: this.#ports.spawner,
        policy: () => this.#policy(),
        publish: (transition) => this.#publish(transition),
      },
      state,
    );
    this.#slots.push(slot);
    return slot;
  }

  /** A blocked process is never restarted. */
  #policy(): Policy {
    return this.#blocked ? { ...this.plan.policy, restart: "never" } : this.plan.policy;
  }

  #publish(transition: Transition): void {
    this.#remember();
    this.#ports.publish(transition);
  }

  #remember(): void {
    const memory: Memory = { blocked: this.#blocked, slots: Object.fromEntries(this.#slots.map(({ id, state }) => [id, state])) };
    this.#ports.spawner.remember(this.id, memory);
  }
}
