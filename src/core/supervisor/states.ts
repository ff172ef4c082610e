/** The states, inputs and effects of the machine in `machine.ts`. */
import type { StopSignal } from "../base/signals.ts";

/** Commands that are run before each start of a process, and after the end of each run. */
export const HOOK_NAMES = ["beforeStart", "afterStop"] as const;
export type HookName = (typeof HOOK_NAMES)[number];

/** How a run ended. */
export type ExitInfo = { /** Monotonic milliseconds. */ readonly at?: number } & (
  | ({ readonly kind: "exited"; readonly code: number | null; readonly signal: string | null } & EndDetails)
  /** The child could not be spawned. `permanent`: another attempt would fail in the same way. */
  | {
      readonly kind: "unstartable";
      readonly message: string;
      readonly permanent: boolean;
      /** The exit code of a shell in this case. */
      readonly exitCode?: number;
    }
  /** The run exited while no keeper was its parent. `unseen`: the keeper was killed while it started the run, which may never have begun. */
  | ({ readonly kind: "unknown"; readonly unseen?: true } & EndDetails)
);

/** `outOfMemory`: the kernel killed it to free memory. `occupied`: another program had its port. `left`: processes that couldn't be ended. */
type EndDetails = { readonly outOfMemory?: true; readonly occupied?: Occupied; readonly left?: number };

/** `by`: the other program, as shown to users. `process`: its id, if procman runs it. `own`: the port of the instance that ended, where another instance listens on `port` in place of its own. `chosen`: procman chose the port, and a reload replaces it. */
export type Occupied = {
  readonly port: number;
  readonly by: string;
  readonly process?: string;
  readonly own?: number;
  readonly chosen?: true;
};

/** What ended a run. `itself`: its leader exited, and the rest of its group is being cleaned up. `idle`: it had no client. */
export type StopCause = "operator" | "terminate" | "watch" | "idle" | "itself" | RunFault;

/** A fault for which a run is stopped, counted as a failure. `unready`: it didn't become ready in time. */
export type RunFault = "timeout" | "unready" | "unhealthy" | "memory";

/** Why a slot is idle. */
export type RunOutcome =
  | { readonly kind: "never-started" }
  | { readonly kind: "stopped"; readonly ending?: ExitInfo }
  /** Its next client starts it. `since`: monotonic milliseconds. */
  | { readonly kind: "asleep"; readonly since: number; readonly ending?: ExitInfo }
  | { readonly kind: "finished"; readonly ending: ExitInfo }
  | FailedOutcome<"failed">
  | FailedOutcome<"exhausted">;

type FailedOutcome<Kind extends string> = { readonly kind: Kind; readonly ending: ExitInfo; readonly fault?: RunFault };

/** What a schedule does at its times. */
export type ScheduledAction = "start" | "terminate";

/** What happens once a stopping slot is empty. */
export type NextStep = "idle" | "start" | "policy";

/** Progress of the stop of a running child. `waiting-dependents`: its dependents must exit first. */
export type Phase = "waiting-dependents" | "grace" | "terminate" | "kill";

export type Base = { readonly run: number; readonly restarts: number };

export type StopIntent = { readonly next: NextStep; readonly cause: StopCause };

/**
 * The leader has exited; the processes it left behind get SIGTERM (`cleanup`), then SIGKILL (`cleanup-kill`). When none
 * is left, the hook afterStop runs (`after-stop`).
 */
export type Sweeping = Base &
  StopIntent & {
    readonly status: "stopping";
    readonly phase: "cleanup" | "cleanup-kill" | "after-stop";
    readonly pid: number;
    readonly started: number;
    readonly since: number;
    readonly ending: ExitInfo;
  };

export type RunningState = Base & {
  readonly status: "running";
  readonly pid: number;
  readonly since: number;
  /** True immediately if no readiness probe is configured. */
  readonly ready: boolean;
  /** Absent: unknown, or no health probe is configured. */
  readonly healthy?: boolean;
};

/** Present: its hook beforeStart runs since then (monotonic milliseconds), and the spawn of the child was not requested yet. */
type BeforeStart = { readonly hookSince?: number };

export type SlotState =
  | (Base & { readonly status: "idle"; readonly outcome: RunOutcome })
  | (Base & { readonly status: "waiting" })
  | (Base & { readonly status: "starting" } & BeforeStart)
  | RunningState
  /** The stop was requested before the child was spawned. */
  | (Base &
      StopIntent &
      BeforeStart & { readonly status: "stopping"; readonly phase: "spawning"; readonly held?: boolean })
  | (Base &
      StopIntent & {
        readonly status: "stopping";
        readonly phase: Phase;
        readonly pid: number;
        readonly started: number;
        readonly since: number;
      })
  | Sweeping
  | (Base & {
      readonly status: "backoff";
      readonly until: number;
      readonly ending: ExitInfo;
      readonly fault?: RunFault;
    });

export type MachineCommand =
  | { readonly type: "start" }
  | { readonly type: "stop"; readonly next: NextStep; readonly cause: StopCause; readonly held?: boolean }
  | { readonly type: "cancel-restart" }
  /** The block was lifted: do what it prevented. */
  | { readonly type: "unblocked" };

export type Report =
  | { readonly type: "dependencies-ready" | "dependents-gone" }
  | { readonly type: "spawned"; readonly run: number; readonly pid: number }
  | { readonly type: "ready"; readonly run: number }
  | { readonly type: "fault"; readonly run: number; readonly fault: RunFault }
  /** `held`: an unhealthy run is not stopped now; each further check reports it again. */
  | { readonly type: "health"; readonly run: number; readonly good: boolean; readonly held?: boolean }
  | {
      readonly type: "ended";
      readonly run: number;
      readonly ending: ExitInfo;
      readonly survivors: boolean;
      /** The keeper is already starting the next run by its restart order. */
      readonly restarted?: true;
    }
  /** `left`: processes of the run that couldn't be ended. */
  | { readonly type: "swept"; readonly run: number; readonly left?: number }
  /** A hook is over. That beforeStart has failed is an `ended` instead. */
  | { readonly type: "hook-ended"; readonly run: number }
  | { readonly type: "timer"; readonly run: number; readonly name: TimerName };

/** `at`: monotonic milliseconds. `chance`: a number in [0, 1) for jitter. `nextRun`: the number of a run that begins now. */
export type MachineInput = (MachineCommand | Report) & {
  readonly at: number;
  readonly chance: number;
  readonly nextRun: number;
};

export type TimerName = "timeout" | "ready" | "escalate" | "restart";
export type Timer = { readonly name: TimerName; readonly due: number };

export type SignalName = StopSignal | "SIGKILL";

/** `signal`: absent: a worker gets the message to finish, at the start of its grace period. `to`: absent: the whole process group. */
export type StopRequest = { readonly signal?: StopSignal | undefined; readonly to?: "leader" | undefined };

export type MachineEffect =
  | { readonly type: "spawn"; readonly run: number }
  /** The keeper is already starting it. */
  | { readonly type: "adopt-restarted"; readonly run: number }
  /** Asks the child to end. A child that serves clients behind the load balancer is asked once no connection is on its way to it. */
  | ({ readonly type: "stop"; readonly run: number; readonly pid: number } & StopRequest)
  /** Sends SIGKILL to the process group of the child. */
  | { readonly type: "kill"; readonly run: number; readonly pid: number }
  /** To all processes that belong to the run; `swept` follows when none is left, or none can be ended. */
  | { readonly type: "sweep"; readonly run: number; readonly pid: number; readonly signal: SignalName }
  /** `ending`: of the run, for afterStop. */
  | { readonly type: "run-hook"; readonly run: number; readonly hook: HookName; readonly ending?: ExitInfo }
  /** Ends the hook beforeStart; `ended` follows. */
  | { readonly type: "end-hook"; readonly run: number };

export type MachineStep = { readonly state: SlotState; readonly effects: readonly MachineEffect[] };

export const initial: SlotState = { status: "idle", run: 0, restarts: 0, outcome: { kind: "never-started" } };
