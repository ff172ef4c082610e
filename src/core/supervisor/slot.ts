/** Drives one state machine: the only place where its state changes and its effects are carried out. */

import type { Clock } from "../base/timer-clock.ts";
import { step } from "./machine.ts";
import type { RunReports, Spawner } from "./ports.ts";
import { type Policy, restartsAtOnceFrom } from "./restart-policy.ts";
import {
  initial,
  type MachineCommand,
  type MachineEffect,
  type MachineInput,
  type Report,
  type SlotState,
  type TimerName,
} from "./states.ts";
import { timers } from "./timers.ts";
import {
  hasCurrentRun,
  hasLeader,
  isIdle,
  isRunning,
  isStarting,
  isStopping,
  isSweeping,
  isUnready,
  runsAfterStop,
} from "./verdict.ts";

export type Transition = {
  readonly slot: string;
  readonly from: SlotState;
  readonly to: SlotState;
  readonly input: MachineInput;
};

export type SlotPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  /** Read at each step, since a blocked process has another policy. */
  readonly policy: () => Policy;
  /** The number of the slot's next run: higher than those of all runs of the process. */
  readonly nextRun: (slot: Slot) => number;
  /** Whether no other run of the process can begin before the slot's next one: the keeper takes its number plus one for that. */
  readonly isAlone: (slot: Slot) => boolean;
  readonly publish: (transition: Transition) => void;
};

export class Slot {
  readonly id: string;
  readonly #ports: SlotPorts;
  #state: SlotState;
  #busy = false;
  #disposed = false;
  readonly #queue: ((MachineCommand | Report) & { readonly at: number })[] = [];
  /** The run that the keeper starts by itself when the current one exits. */
  #restartOrder: number | undefined;
  /** The keeper has had an order for the run after the current one, which it may have executed before it was cancelled. */
  #wasOrdered = false;
  readonly #armed = new Map<TimerName | "restart-order", { readonly due: number; readonly drop: () => void }>();

  constructor(id: string, ports: SlotPorts, state: SlotState = initial) {
    this.id = id;
    this.#ports = ports;
    this.#state = state;
    // The state may be of a time when readiness wasn't probed.
    if (this.#isReadyByPolicy) this.#state = { ...state, ready: true } as SlotState;
    if (state !== initial) this.#resume();
  }

  get state(): SlotState {
    return this.#state;
  }

  get isFree(): boolean {
    return isIdle(this.#state);
  }

  /** The highest number that a run of the slot has, or may have. */
  get lastRun(): number {
    return this.#wasOrdered ? this.#state.run + 1 : this.#state.run;
  }

  /** Whether the policy no longer has a readiness probe. */
  get #isReadyByPolicy(): boolean {
    return isUnready(this.#state) && this.#ports.policy().readyMs === undefined;
  }

  get #restartOrderDue(): number {
    const state = this.#state;
    if (!isRunning(state) || this.#restartOrder !== undefined || !this.#ports.isAlone(this))
      return Number.POSITIVE_INFINITY;
    return restartsAtOnceFrom(state, this.#ports.policy());
  }

  /** Inputs are handled in order, never recursively. */
  post(input: MachineCommand | Report, at = this.#ports.clock.now()): void {
    if (this.#disposed) return;
    this.#queue.push({ ...input, at });
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#handle(next);
    } finally {
      this.#busy = false;
    }
  }

  /** Recomputes the deadlines after the policy or the command has changed; they count from the same moments as before. */
  rearm(): void {
    if (this.#disposed) return;
    this.#cancelRestartOrder();
    this.#arm();
    if (this.#isReadyByPolicy) this.post({ type: "ready", run: this.#state.run });
  }

  /** Drops all timers and ignores all inputs; what is running keeps running. */
  dispose(): void {
    this.#disposed = true;
    for (const { drop } of this.#armed.values()) drop();
    this.#armed.clear();
  }

  #handle(posted: (MachineCommand | Report) & { readonly at: number }): void {
    const from = this.#state;
    const input: MachineInput = { ...posted, chance: this.#ports.clock.chance(), nextRun: this.#ports.nextRun(this) };
    const { state: to, effects } = step(from, input, this.#ports.policy());
    if (to === from) return;
    this.#state = to;
    if (input.type === "ended") {
      this.#restartOrder = undefined;
      this.#wasOrdered = false;
    } else if (!isRunning(to)) this.#cancelRestartOrder();
    for (const effect of effects) this.#carryOut(effect);
    this.#arm();
    this.#ports.publish({ slot: this.id, from, to, input });
  }

  #carryOut(effect: MachineEffect): void {
    const { spawner } = this.#ports;
    const on = this.#reports(effect.run);
    switch (effect.type) {
      case "spawn":
        return spawner.spawn(this.id, effect.run, on);
      case "adopt-restarted":
        return spawner.adoptRestarted(this.id, effect.run, on);
      case "stop":
        return spawner.stop(this.id, effect.run, { signal: effect.signal, to: effect.to });
      case "kill":
        return spawner.kill(this.id, effect.run);
      case "sweep":
        return spawner.sweep(this.id, effect.run, effect.pid, effect.signal);
      case "run-hook":
        return spawner.runHook(this.id, effect.run, effect, on);
      case "end-hook":
        return spawner.endHook(this.id, effect.run, on);
      default:
        return effect satisfies never;
    }
  }

  #reports(run: number): RunReports {
    return {
      spawned: (pid, at) => this.post({ type: "spawned", run, pid }, at),
      ended: (ending, survivors, at) => this.post({ type: "ended", run, ending, survivors }, at),
      endedAndRestarted: (ending, at) =>
        this.post({ type: "ended", run, ending, survivors: false, restarted: true }, at),
      swept: (left) => this.post({ type: "swept", run, ...(left > 0 && { left }) }),
      hookEnded: () => this.post({ type: "hook-ended", run }),
      lost: () => this.#onLost(run),
    };
  }

  /** Requests the run again, even if it is being stopped: the first request may still be queued. */
  #onLost(run: number): void {
    if (!this.#disposed && this.#state.run === run) this.#ports.spawner.spawn(this.id, run, this.#reports(run));
  }

  #giveRestartOrder(): void {
    if (!this.#ports.isAlone(this)) return;
    const { restart } = this.#ports.policy();
    this.#restartOrder = this.#state.run + 1;
    this.#wasOrdered = true;
    this.#ports.spawner.giveRestartOrder(this.id, this.#restartOrder, restart === "always" ? "any-end" : "failure");
  }

  #cancelRestartOrder(): void {
    if (this.#restartOrder !== undefined) this.#ports.spawner.cancelRestartOrder(this.id, this.#restartOrder);
    this.#restartOrder = undefined;
  }

  /** Continues from the state of a previous service: arms its deadlines again and repeats an unfinished sweep or hook. */
  #resume(): void {
    const state = this.#state;
    if (!hasCurrentRun(state) || this.#resumeHook()) return this.#arm();
    const { spawner } = this.#ports;
    const isSwept = isSweeping(state);
    spawner.adopt(
      this.id,
      state.run,
      isSwept ? "ended" : hasLeader(state) ? "alive" : "asked",
      this.#reports(state.run),
    );
    if (isSwept) spawner.sweep(this.id, state.run, state.pid, state.phase === "cleanup" ? "SIGTERM" : "SIGKILL");
    // The keeper may have died after recording this and before sending the signal; no deadline would repeat it.
    else if (isStopping(state) && state.phase === "kill") spawner.kill(this.id, state.run);
    this.#arm();
  }

  /** Returns whether a hook was running. */
  #resumeHook(): boolean {
    const state = this.#state;
    const { spawner } = this.#ports;
    const on = this.#reports(state.run);
    if ("hookSince" in state && state.hookSince !== undefined) {
      if (isStarting(state)) spawner.runHook(this.id, state.run, { hook: "beforeStart", isRepeated: true }, on);
      else spawner.endHook(this.id, state.run, on);
      return true;
    }
    if (!runsAfterStop(state)) return false;
    spawner.runHook(this.id, state.run, { hook: "afterStop", ending: state.ending, isRepeated: true }, on);
    return true;
  }

  /** Arms the deadlines of the state and drops all others. */
  #arm(): void {
    const { run } = this.#state;
    const wanted = new Map<TimerName | "restart-order", number>(
      timers(this.#state, this.#ports.policy()).map(({ name, due }) => [name, due]),
    );
    const orderDue = this.#restartOrderDue;
    if (orderDue < Number.POSITIVE_INFINITY) wanted.set("restart-order", orderDue);
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
        if (name === "restart-order") this.#giveRestartOrder();
        else this.post({ type: "timer", run, name });
      });
      this.#armed.set(name, { due, drop });
    }
  }
}
