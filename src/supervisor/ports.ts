/** What the supervisor needs from the world. `runtime/` implements these; tests fake them. */
import type { Ending, SignalName } from "./states.ts";

export interface Clock {
  /** Monotonic milliseconds of the machine: the same scale in every process until it is booted again. */
  now(): number;
  /** Milliseconds since 1970; may jump. */
  wall(): number;
  /** Calls back once `due` (monotonic) has come; returns a way to drop the call. */
  at(due: number, call: () => void): () => void;
  /** A number in [0, 1). */
  chance(): number;
}

export interface RunReports {
  /** `at`: when it happened, if that is known; monotonic milliseconds. */
  spawned(pid: number, at?: number): void;
  ended(ending: Ending, survivors: boolean, at?: number): void;
  swept(): void;
  /** It was asked for, but nobody has started it. */
  lost(): void;
}

export interface Spawner {
  /** Starts a run of a slot. Exactly one `ended` follows, also when no child came up. */
  spawn(slot: string, run: number, on: RunReports): void;
  /** To the process group of the run. */
  signal(slot: string, run: number, signal: SignalName): void;
  /** Asks a worker to finish, by a message: SIGTERM comes later. Others are not asked. */
  drain(slot: string, run: number): void;
  /** To everybody who still belongs to the run (its group, and who carries its marker); `swept` follows once nobody is left. */
  sweep(slot: string, run: number, pid: number, signal: SignalName): void;
  /** Takes up the reports of a run that an earlier service asked for, saw alive, or saw end. */
  adopt(slot: string, run: number, seen: "asked" | "alive" | "ended", on: RunReports): void;
  /** What a later service needs to go on from here. */
  remember(id: string, memory: unknown): void;
  /** The process is none of ours any more. */
  forget(id: string): void;
}
