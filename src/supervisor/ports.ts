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
  /** It ended, and the next run, which was prepared, is being started. */
  followed(ending: Ending, at?: number): void;
  swept(): void;
  /** It was asked for, but nobody has started it. */
  lost(): void;
}

/** Which ends of a run the next one follows by itself. */
export type Following = "any-end" | "failure";

export interface Spawner {
  /** Starts a run of a slot. Exactly one `ended` follows, also when no child came up. */
  spawn(slot: string, run: number, on: RunReports): void;
  /** Asks that this run be started as soon as the one before it has ended in such a way, if it can be said now what it consists of; see `RunReports.followed`. */
  prepare(slot: string, run: number, after: Following): void;
  /** It is not to be started by itself any more; it may be under way. */
  unprepare(slot: string, run: number): void;
  /** Takes up the reports of a run that is being started as it was prepared. */
  follow(slot: string, run: number, on: RunReports): void;
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
