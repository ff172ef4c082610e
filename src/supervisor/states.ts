/** What a slot can be, what can happen to it, and what it then wants done: the words of the machine in `instance.ts`. */
import type { StopSignal } from "../base/stop-signals.ts";

/** How a run ended. */
export type Ending = { /** Monotonic milliseconds. */ readonly at?: number } & (
  | ({ readonly kind: "exited"; readonly code: number | null; readonly signal: string | null } & Verdict)
  /** No child came up. `permanent`: trying again without a change would fail in the same way. */
  | {
      readonly kind: "unstartable";
      readonly message: string;
      readonly permanent: boolean;
      /** What a shell would have ended with. */
      readonly exitCode?: number;
    }
  /** It ended while nobody was its parent. */
  | ({ readonly kind: "unknown" } & Verdict)
);

/** `outOfMemory`: the kernel has killed it for that. `occupied`: somebody else had its port. */
type Verdict = { readonly outOfMemory?: true; readonly occupied?: Occupied };

/** `by`: as people read it. */
export type Occupied = { readonly port: number; readonly by: string };

/** Who began the end of a run. `itself`: its leader ended, the rest of its group is being cleared away. */
export type StopCause = "operator" | "terminate" | "watch" | "itself" | Fault;

/** What a run was stopped for that counts as an error of its own. `unready`: it took too long to become ready. */
export type Fault = "timeout" | "unready" | "unhealthy" | "memory";

/** Why a slot is idle. */
export type Outcome =
  | { readonly kind: "never-started" }
  | { readonly kind: "stopped"; readonly ending?: Ending }
  | { readonly kind: "finished"; readonly ending: Ending }
  | Failure<"failed">
  | Failure<"exhausted">;

type Failure<Kind extends string> = { readonly kind: Kind; readonly ending: Ending; readonly fault?: Fault };

/** What follows once a stopping slot is empty. */
export type Next = "idle" | "start" | "policy";

/** How far the stop of a known child has got. `held`: whoever depends on it ends first. */
export type Phase = "held" | "grace" | "terminate" | "kill";

export type Base = { readonly run: number; readonly restarts: number };

export type Plan = { readonly next: Next; readonly cause: StopCause };

/** The leader is gone; whoever it left behind is asked (`sweep`), then made (`sweep-kill`), to go. */
export type Sweeping = Base &
  Plan & {
    readonly status: "stopping";
    readonly phase: "sweep" | "sweep-kill";
    readonly pid: number;
    readonly started: number;
    readonly since: number;
    readonly ending: Ending;
  };

export type Running = Base & {
  readonly status: "running";
  readonly pid: number;
  readonly since: number;
  /** It does its work: at once where nobody has said how that is found out. */
  readonly ready: boolean;
  /** Absent: not known, or not asked for. */
  readonly healthy?: boolean;
};

export type Instance =
  | (Base & { readonly status: "idle"; readonly outcome: Outcome })
  | (Base & { readonly status: "waiting" })
  | (Base & { readonly status: "starting" })
  | Running
  /** The stop came before the pid did. */
  | (Base & Plan & { readonly status: "stopping"; readonly phase: "spawning"; readonly held?: boolean })
  | (Base &
      Plan & { readonly status: "stopping"; readonly phase: Phase; readonly pid: number; readonly started: number; readonly since: number })
  | Sweeping
  | (Base & { readonly status: "backoff"; readonly until: number; readonly ending: Ending; readonly fault?: Fault });

export type Command =
  | { readonly type: "start" }
  | { readonly type: "stop"; readonly next: Next; readonly cause: StopCause; readonly held?: boolean }
  | { readonly type: "cancel-restart" };

export type Report =
  | { readonly type: "dependencies-ready" | "dependents-gone" }
  | { readonly type: "spawned"; readonly run: number; readonly pid: number }
  | { readonly type: "ready"; readonly run: number }
  | { readonly type: "fault"; readonly run: number; readonly fault: Fault }
  | { readonly type: "health"; readonly run: number; readonly good: boolean }
  | {
      readonly type: "ended";
      readonly run: number;
      readonly ending: Ending;
      readonly survivors: boolean;
      /** The next run is being started already, as it was prepared. */
      readonly followed?: true;
    }
  | { readonly type: "swept"; readonly run: number }
  | { readonly type: "timer"; readonly run: number; readonly name: TimerName };

/** `at`: monotonic milliseconds. `chance`: a number in [0, 1) for whatever shall not happen in step with others. */
export type Input = (Command | Report) & { readonly at: number; readonly chance: number };

export type TimerName = "timeout" | "ready" | "escalate" | "restart";
export type Timer = { readonly name: TimerName; readonly due: number };

export type SignalName = StopSignal | "SIGKILL";

export type Effect =
  | { readonly type: "spawn"; readonly run: number }
  /** It is being started already. */
  | { readonly type: "follow"; readonly run: number }
  /** To the whole process group of the child. */
  | { readonly type: "signal"; readonly run: number; readonly pid: number; readonly signal: SignalName }
  /** To a worker, at the beginning of its grace period. */
  | { readonly type: "drain"; readonly run: number }
  /** To everybody who still belongs to the run; answered by `swept` once nobody is left. */
  | { readonly type: "sweep"; readonly run: number; readonly pid: number; readonly signal: SignalName };

export type Step = { readonly state: Instance; readonly effects: readonly Effect[] };

export const initial: Instance = { status: "idle", run: 0, restarts: 0, outcome: { kind: "never-started" } };
