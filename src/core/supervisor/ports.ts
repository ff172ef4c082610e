/** What the supervisor needs from the outside world: implemented in `service/`, faked in tests. */
import type { ProcessSnapshot } from "./snapshot.ts";
import type { ExitInfo, HookName, SignalName, StopRequest } from "./states.ts";

export interface RunReports {
  /** `at`: when it happened, in monotonic milliseconds, if known. */
  spawned(pid: number, at?: number): void;
  ended(ending: ExitInfo, survivors: boolean, at?: number): void;
  /** The run has ended, and the keeper is starting the next run by its restart order. */
  endedAndRestarted(ending: ExitInfo, at?: number): void;
  swept(left: number): void;
  /** Its hook is over; a hook beforeStart that has failed or was ended is reported as the end of a run that can't be started. */
  hookEnded(): void;
  /** The run was requested, but never started. */
  lost(): void;
}

/** `ending`: of the run, for afterStop. `isRepeated`: an earlier service has begun to run it, and what is left of that is ended first. */
export type HookCall = { readonly hook: HookName; readonly ending?: ExitInfo; readonly isRepeated?: true };

/** The exits after which the keeper starts the next run by a restart order. */
export type RestartOrderCondition = "any-end" | "failure";

export interface Spawner {
  /** Starts a run of a slot. Exactly one `ended` follows, also if the child could not be spawned. */
  spawn(slot: string, run: number, on: RunReports): void;
  /** Orders the keeper to start this run as soon as the previous one exits as given, if its command can be computed in advance; see `RunReports.endedAndRestarted`. */
  giveRestartOrder(slot: string, run: number, after: RestartOrderCondition): void;
  /** Cancels that order; the run may have started already. */
  cancelRestartOrder(slot: string, run: number): void;
  /** Receives the reports of a run that the keeper is starting by a restart order. */
  adoptRestarted(slot: string, run: number, on: RunReports): void;
  /** Asks the run to end, by a signal or, if it is a worker, by a message; that has no effect on other processes. An instance behind the load balancer is asked once no connection is on its way to it. */
  stop(slot: string, run: number, request: StopRequest): void;
  /** Sends SIGKILL to the process group of the run. */
  kill(slot: string, run: number): void;
  /** Signals all processes of the run (its group, and those with its marker); `swept` follows when none is left. */
  sweep(slot: string, run: number, pid: number, signal: SignalName): void;
  /** Runs a hook of the run; `hookEnded` or `ended` follows. */
  runHook(slot: string, run: number, call: HookCall, on: RunReports): void;
  /** Ends the hook beforeStart, also that of an earlier service; `ended` follows. */
  endHook(slot: string, run: number, on: RunReports): void;
  /** Receives the reports of a run that a previous service requested, saw alive, or saw end. */
  adopt(slot: string, run: number, known: "asked" | "alive" | "ended", on: RunReports): void;
  /** Stores the snapshot from which the next service continues. */
  remember(id: string, snapshot: ProcessSnapshot): void;
  /** Drops the snapshot of a removed process. */
  forget(id: string): void;
}
