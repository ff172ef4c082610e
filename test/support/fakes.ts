/** A clock and a spawner that the test controls. */
import assert from "node:assert/strict";
import type { Clock } from "../../src/core/base/timer-clock.ts";
import type { HookCall, RunReports, Spawner } from "../../src/core/supervisor/ports.ts";
import type { Policy } from "../../src/core/supervisor/restart-policy.ts";
import { decodeSnapshot, encodeSnapshot, type ProcessSnapshot } from "../../src/core/supervisor/snapshot.ts";
import type { ExitInfo, SignalName, StopRequest } from "../../src/core/supervisor/states.ts";

/** A process that restarts after errors, with default settings. */
export const POLICY: Policy = {
  restart: "error",
  restartLimit: Number.POSITIVE_INFINITY,
  restartResetMs: 60_000,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 0,
  waits: false,
};

export class FakeClock implements Clock {
  #now = 1_000;
  #offset = Date.UTC(2026, 0, 1) - 1_000;
  #timers: { readonly due: number; readonly call: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wall(): number {
    return this.#now + this.#offset;
  }

  chance(): number {
    return 0.5;
  }

  at(due: number, call: () => void): () => void {
    const timer = { due, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get armed(): number {
    return this.#timers.length;
  }

  /** Moves the wall clock, as an administrator or NTP would. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.due);
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.call();
    }
    this.#now = end;
  }
}

export class FakeSpawner implements Spawner {
  /** The requests, in order: `spawn web 1`, `SIGTERM web 1`, `sweep SIGKILL web 1`. */
  readonly log: string[] = [];
  /** The latest snapshots, read back from their notes. */
  readonly snapshots = new Map<string, ProcessSnapshot>();
  /** By slot: `2 after any-end`. */
  readonly restartOrders = new Map<string, string>();
  readonly #reports = new Map<string, RunReports>();
  #pid = 100;

  spawn(slot: string, run: number, on: RunReports): void {
    this.log.push(`spawn ${slot} ${run}`);
    this.#reports.set(slot, on);
  }

  giveRestartOrder(slot: string, run: number, after: string): void {
    this.restartOrders.set(slot, `${run} after ${after}`);
  }

  cancelRestartOrder(slot: string, run: number): void {
    if (this.restartOrders.get(slot)?.startsWith(`${run} `)) this.restartOrders.delete(slot);
  }

  adoptRestarted(slot: string, run: number, on: RunReports): void {
    this.log.push(`adopt restarted ${slot} ${run}`);
    this.#reports.set(slot, on);
  }

  stop(slot: string, run: number, { signal, to }: StopRequest): void {
    this.log.push(`${signal ?? "drain"} ${slot} ${run}${to === undefined ? "" : ` to the ${to}`}`);
  }

  kill(slot: string, run: number): void {
    this.log.push(`SIGKILL ${slot} ${run}`);
  }

  sweep(slot: string, run: number, _pid: number, signal: SignalName): void {
    this.log.push(`sweep ${signal} ${slot} ${run}`);
  }

  runHook(slot: string, run: number, { hook, ending, isRepeated }: HookCall, on: RunReports): void {
    const code = ending?.kind === "exited" ? ` with code ${ending.code}` : "";
    this.log.push(`${isRepeated ? "repeat " : ""}${hook} ${slot} ${run}${code}`);
    this.#reports.set(slot, on);
  }

  endHook(slot: string, run: number, on: RunReports): void {
    this.log.push(`end beforeStart ${slot} ${run}`);
    this.#reports.set(slot, on);
  }

  adopt(slot: string, run: number, seen: string, on: RunReports): void {
    this.log.push(`adopt ${seen} ${slot} ${run}`);
    this.#reports.set(slot, on);
  }

  remember(id: string, snapshot: ProcessSnapshot): void {
    const noted: unknown = JSON.parse(JSON.stringify(encodeSnapshot(snapshot)));
    this.snapshots.set(id, decodeSnapshot(noted, id) ?? assert.fail(JSON.stringify(noted)));
  }

  forget(id: string): void {
    this.snapshots.delete(id);
  }

  lose(slot: string): void {
    this.#reports.get(slot)?.lost();
  }

  up(slot: string): void {
    this.#reports.get(slot)?.spawned(++this.#pid);
  }

  end(slot: string, ending: ExitInfo, survivors = false): void {
    this.#reports.get(slot)?.ended(ending, survivors);
  }

  exit(slot: string, code: number): void {
    this.end(slot, { kind: "exited", code, signal: null });
  }

  /** It ends, and the keeper starts the next run by its restart order. */
  endAndRestart(slot: string, code: number): void {
    this.restartOrders.delete(slot);
    this.#reports.get(slot)?.endedAndRestarted({ kind: "exited", code, signal: null });
  }

  swept(slot: string, left = 0): void {
    this.#reports.get(slot)?.swept(left);
  }

  hookEnded(slot: string): void {
    this.#reports.get(slot)?.hookEnded();
  }

  /** The requests since the last call. */
  takeRequests(): readonly string[] {
    return this.log.splice(0);
  }
}
