/** Drives one instance machine: the only place where its state changes and its effects happen. */

import { timers } from "./deadlines.ts";
import { step } from "./instance.ts";
import type { Clock, RunReports, Spawner } from "./ports.ts";
import { followsFrom, type Policy } from "./restart-policy.ts";
import { type Command, type Input, type Instance, initial, type Report, type TimerName } from "./states.ts";

export type Transition = { readonly slot: string; readonly from: Instance; readonly to: Instance; readonly input: Input };

export type SlotPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  /** Asked at each step: a blocked process has another policy. */
  readonly policy: () => Policy;
  readonly publish: (transition: Transition) => void;
};

export class Slot {
  readonly id: string;
  readonly #ports: SlotPorts;
  #state: Instance;
  #busy = false;
  #disposed = false;
  readonly #queue: Input[] = [];
  /** The run that is started without a word from here when the present one ends. */
  #prepared: number | undefined;
  readonly #armed = new Map<TimerName | "prepare", { readonly due: number; readonly drop: () => void }>();

  constructor(id: string, ports: SlotPorts, state: Instance = initial) {
    this.id = id;
    this.#ports = ports;
    this.#state = state;
    // Of a run of before, when nobody asked.
    if (this.#isReadyByPolicy) this.#state = { ...state, ready: true } as Instance;
    if (state !== initial) this.#resume();
  }

  get state(): Instance {
    return this.#state;
  }

  get isFree(): boolean {
    return this.#state.status === "idle";
  }

  /** Nobody asks any more whether it is ready. */
  get #isReadyByPolicy(): boolean {
    return this.#state.status === "running" && !this.#state.ready && this.#ports.policy().readyMs === undefined;
  }

  get #prepareAt(): number {
    const state = this.#state;
    if (state.status !== "running" || this.#prepared !== undefined) return Number.POSITIVE_INFINITY;
    return followsFrom(state, this.#ports.policy());
  }

  /** Inputs are handled in order, never inside one another. */
  post(input: Command | Report, at = this.#ports.clock.now()): void {
    if (this.#disposed) return;
    this.#queue.push({ ...input, at, chance: this.#ports.clock.chance() });
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#handle(next);
    } finally {
      this.#busy = false;
    }
  }

  /** The policy is another one, or what a run consists of: deadlines are counted anew, from where they were counted before. */
  rearm(): void {
    if (this.#disposed) return;
    this.#unprepare();
    this.#arm();
    if (this.#isReadyByPolicy) this.post({ type: "ready", run: this.#state.run });
  }

  /** Nothing happens here any more; what runs goes on. */
  dispose(): void {
    this.#disposed = true;
    for (const { drop } of this.#armed.values()) drop();
    this.#armed.clear();
  }

  #handle(input: Input): void {
    const from = this.#state;
    const { state: to, effects } = step(from, input, this.#ports.policy());
    if (to === from) return;
    this.#state = to;
    if (input.type === "ended") this.#prepared = undefined;
    else if (to.status !== "running") this.#unprepare();
    for (const effect of effects) {
      const { spawner } = this.#ports;
      if (effect.type === "spawn") spawner.spawn(this.id, effect.run, this.#reports(effect.run));
      else if (effect.type === "follow") spawner.follow(this.id, effect.run, this.#reports(effect.run));
      else if (effect.type === "signal") spawner.signal(this.id, effect.run, effect.signal);
      else if (effect.type === "drain") spawner.drain(this.id, effect.run);
      else spawner.sweep(this.id, effect.run, effect.pid, effect.signal);
    }
    this.#arm();
    this.#ports.publish({ slot: this.id, from, to, input });
  }

  #reports(run: number): RunReports {
    return {
      spawned: (pid, at) => this.post({ type: "spawned", run, pid }, at),
      ended: (ending, survivors, at) => this.post({ type: "ended", run, ending, survivors }, at),
      followed: (ending, at) => this.post({ type: "ended", run, ending, survivors: false, followed: true }, at),
      swept: () => this.post({ type: "swept", run }),
      lost: () => this.#onLost(run),
    };
  }

  /** It is asked for again, even if its end is wanted by now: the request may still be in a queue. */
  #onLost(run: number): void {
    if (!this.#disposed && this.#state.run === run) this.#ports.spawner.spawn(this.id, run, this.#reports(run));
  }

  #prepare(): void {
    const { restart } = this.#ports.policy();
    this.#prepared = this.#state.run + 1;
    this.#ports.spawner.prepare(this.id, this.#prepared, restart === "always" ? "any-end" : "failure");
  }

  #unprepare(): void {
    if (this.#prepared !== undefined) this.#ports.spawner.unprepare(this.id, this.#prepared);
    this.#prepared = undefined;
  }

  /** A state that an earlier service left: its deadlines are armed again, an unfinished sweep is asked for again. */
  #resume(): void {
    const state = this.#state;
    if (state.status === "idle" || state.status === "waiting" || state.status === "backoff") return this.#arm();
    const { spawner } = this.#ports;
    const swept = state.status === "stopping" && "ending" in state;
    spawner.adopt(this.id, state.run, swept ? "ended" : "pid" in state ? "alive" : "asked", this.#reports(state.run));
    if (swept) spawner.sweep(this.id, state.run, state.pid, state.phase === "sweep" ? "SIGTERM" : "SIGKILL");
    // A keeper may have died between writing this down and doing it, and no deadline follows.
    else if (state.status === "stopping" && state.phase === "kill") spawner.signal(this.id, state.run, "SIGKILL");
    this.#arm();
  }

  /** Arms the deadlines the state has and drops the ones it no longer has. */
  #arm(): void {
    const { run } = this.#state;
    const wanted = new Map<TimerName | "prepare", number>(timers(this.#state, this.#ports.policy()).map(({ name, due }) => [name, due]));
    const prepare = this.#prepareAt;
    if (prepare < Number.POSITIVE_INFINITY) wanted.set("prepare", prepare);
    for (const [name, { due, drop }] of this.#armed) {
      if (wanted.get(name) === due) wanted.delete(name);
      else {
        drop();
        this.#armed.delete(name);
      }
    }
    for (const [name, due] of wanted) {
      const drop = this.#ports.clock.at(due, () => {
        this.#armed.delete(name);
        if (name === "prepare") this.#prepare();
        else this.post({ type: "timer", run, name });
      });
      this.#armed.set(name, { due, drop });
    }
  }
}

/** Of a further slot of a process, for a run that overlaps. */
export function freeName(process: string, slots: readonly Slot[]): string {
  const taken = new Set(slots.map(({ id }) => id));
  for (let number = 2; ; number++) if (!taken.has(`${process}:${number}`)) return `${process}:${number}`;
}
