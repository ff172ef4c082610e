/** The real supervisor with its spawner and its keeper channel, in a service on the model of a machine. */
import assert from "node:assert/strict";
import { RunMarkers } from "../../src/core/base/run-marker.ts";
import type { Clock } from "../../src/core/base/timer-clock.ts";
import type { FromKeeper, RunKey, SpawnRequest, ToKeeper } from "../../src/core/ipc/keeper-protocol.ts";
import { KeeperChannel } from "../../src/core/service/keeper-channel.ts";
import { KeeperSpawner } from "../../src/core/service/spawn/spawner.ts";
import type { Sweeper } from "../../src/core/service/spawn/sweeper.ts";
import type { ProcessDefinition } from "../../src/core/supervisor/definition.ts";
import type { HookCall, RunReports } from "../../src/core/supervisor/ports.ts";
import type { Process } from "../../src/core/supervisor/process.ts";
import type { Transition } from "../../src/core/supervisor/slot.ts";
import { decodeSnapshot, type ProcessSnapshot } from "../../src/core/supervisor/snapshot.ts";
import { Supervisor } from "../../src/core/supervisor/supervisor.ts";
import { isRunning } from "../../src/core/supervisor/verdict.ts";
import { type Command, type IssuedCommand, keyOf, type Machine } from "./machine-model.ts";

/** Collects the `setImmediate` calls of the code under test. */
export type Turn = (() => void)[];

/** A hook on its way: requested, then begun. */
export type PendingHook = RunKey & {
  readonly call: HookCall;
  readonly on: RunReports;
  isBegun: boolean;
  isEnding: boolean;
};

/** One service with its timers and turns; those of a dead service never run. */
export class Service {
  readonly machine: Machine;
  readonly turn: Turn = [];
  readonly timers: { readonly due: number; readonly call: () => void }[] = [];
  readonly sweeps = new Map<string, () => void>();
  /** By slot. */
  readonly hooks = new Map<string, PendingHook>();
  readonly supervisor: Supervisor;
  isStarted = false;
  /** The command that was accepted and is not sent yet. */
  accepted: IssuedCommand | undefined;
  readonly #link: KeeperChannel;
  readonly #spawner: KeeperSpawner;
  readonly #definitions: readonly ProcessDefinition[];
  #receive: (messages: readonly FromKeeper[]) => void = () => undefined;

  constructor(machine: Machine, definitions: readonly ProcessDefinition[], saw: (transition: Transition) => void) {
    this.machine = machine;
    this.#definitions = definitions;
    const channel = {
      connected: true,
      on: (_event: string, call: (messages: readonly FromKeeper[]) => void) => {
        this.#receive = call;
      },
      once: () => undefined,
      send: (messages: readonly ToKeeper[]) => {
        machine.toKeeper.push({ messages: [...messages], issued: this.accepted });
        this.accepted = undefined;
      },
    };
    this.#link = new KeeperChannel(channel as unknown as NodeJS.Process, {
      message: (message) => this.#onMessage(message),
      closed: () => undefined,
    });
    const sweeper = { sweep: (run: RunKey, _signal: string, done: () => void) => this.sweeps.set(keyOf(run), done) };
    this.#spawner = new KeeperSpawner({
      link: this.#link,
      sweeper: sweeper as unknown as Sweeper,
      hooks: {
        load: () => undefined,
        run: (slot, run, call, on) =>
          void this.hooks.set(slot, { slot, run, call, on, isBegun: false, isEnding: false }),
        end: (slot, run, on) => this.#endHook(slot, run, on),
      },
      request: (): Omit<SpawnRequest, "slot" | "run"> => ({ argv: [], cwd: "/", env: {} }),
      isKnownInAdvance: () => true,
      markers: new RunMarkers("/model", "0".repeat(32)),
      uidOf: () => undefined,
      workerSignal: () => undefined,
      defersStart: () => false,
      defersStop: () => false,
      occupied: () => undefined,
      whyUnstartable: () => ({ message: "", exitCode: 1 }),
    });
    const clock: Clock = {
      now: () => machine.now,
      wall: () => machine.now,
      chance: () => 0.5,
      at: (due, call) => {
        const timer = { due, call };
        this.timers.push(timer);
        return () => void (this.timers.includes(timer) && this.timers.splice(this.timers.indexOf(timer), 1));
      },
    };
    this.supervisor = new Supervisor({
      clock,
      spawner: this.#spawner,
      publish: saw,
      notice: () => undefined,
      removed: () => undefined,
    });
    this.#link.send({ t: "open", protocol: 1, version: "", stateDir: "/", captures: 0 });
    this.#link.flush();
  }

  get processes(): readonly Process[] {
    return this.supervisor.processes;
  }

  receive(messages: readonly FromKeeper[]): void {
    this.#receive(messages);
  }

  /** Without a hook of this service, what is left of that of an earlier one is ended. */
  #endHook(slot: string, run: number, on: RunReports): void {
    const hook = this.hooks.get(slot);
    if (hook?.run === run) hook.isEnding = true;
    else
      this.hooks.set(slot, {
        slot,
        run,
        call: { hook: "beforeStart", isRepeated: true },
        on,
        isBegun: false,
        isEnding: true,
      });
  }

  /** As `ProcmanService` does. */
  #onMessage(message: FromKeeper): void {
    if (message.t === "snapshot") this.#begin(message);
    else if (message.t === "spawned" || message.t === "exited" || message.t === "failed")
      this.#spawner.receive(message);
  }

  #begin(snapshot: FromKeeper & { readonly t: "snapshot" }): void {
    this.#spawner.load(snapshot);
    const snapshots = new Map<string, ProcessSnapshot>();
    for (const [id, note] of Object.entries(snapshot.notes))
      snapshots.set(id, decodeSnapshot(JSON.parse(note), id) ?? assert.fail(note));
    this.supervisor.resume(this.#definitions, snapshots);
    this.supervisor.apply(this.#definitions);
    this.#spawner.deliverBuffered();
    this.#link.flush();
    this.isStarted = true;
  }

  command(command: Command, id: string): void {
    const process = this.supervisor.find(id);
    const run = Math.max(...process.states.map((state) => state.run));
    // A client wakes nothing else, and only what runs has clients that go.
    if (command === "wake" && !process.isDormant) return;
    if (command === "sleep" && !process.states.every(isRunning)) return;
    try {
      process[command]();
      this.accepted = { command, id, run };
    } catch {
      // Refused in this state.
    }
  }
}
