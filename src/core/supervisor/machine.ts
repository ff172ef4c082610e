/**
 * A slot that runs at most one child at a time, as a pure state machine.
 *
 * `step` computes the next state; `timers.ts` derives the deadlines of a state. Nothing here reads a clock, starts a
 * process or logs: time arrives with inputs, work leaves as effects.
 */
import { isSuccess, type Policy, restartDelay, stopSignalOf, wantsRestart } from "./restart-policy.ts";
import type {
  Base,
  ExitInfo,
  MachineInput,
  MachineStep,
  RunFault,
  RunningState,
  RunOutcome,
  SlotState,
  StopCause,
  StopIntent,
  Sweeping,
} from "./states.ts";

/** Stopped during beforeStart: the process itself was never spawned. */
const UNSPAWNED: ExitInfo = { kind: "unstartable", message: "its hook beforeStart was ended", permanent: false };

export function step(state: SlotState, input: MachineInput, policy: Policy): MachineStep {
  if ("run" in input && input.run !== state.run) return stay(state);
  switch (input.type) {
    case "start":
      return onStart(state, input, policy);
    case "stop":
      return onStop(state, input, policy);
    case "cancel-restart":
      return onCancelRestart(state, policy);
    case "unblocked":
      return onUnblocked(state, input, policy);
    case "dependencies-ready":
      return state.status === "waiting" ? launch(state, { input, policy }) : stay(state);
    case "dependents-gone":
      return state.status === "stopping" && state.phase === "waiting-dependents"
        ? beginStop(state, state, { at: input.at, policy })
        : stay(state);
    case "spawned":
      return onSpawned(state, input.pid, input.at, policy);
    case "ready":
    case "health":
    case "fault":
      return state.status === "running" ? onReport(state, input, policy) : stay(state);
    case "ended":
      return onEnded(state, input, policy);
    case "swept":
      return state.status === "stopping" && (state.phase === "cleanup" || state.phase === "cleanup-kill")
        ? afterRun({ ...state, ending: withLeft(state.ending, input.left) }, input, policy)
        : stay(state);
    case "hook-ended":
      return onHookEnded(state, input, policy);
    case "timer":
      return onTimer(state, input, policy);
    default:
      return input satisfies never;
  }
}

function onStart(state: SlotState, input: MachineInput, policy: Policy): MachineStep {
  switch (state.status) {
    case "idle":
    case "backoff":
      return policy.waits
        ? stay({ run: state.run, restarts: 0, status: "waiting" })
        : launch({ ...state, restarts: 0 }, { input, policy });
    case "stopping":
      return stay({ ...state, next: "start" });
    case "waiting":
    case "starting":
    case "running":
      return stay(state);
    default:
      return state satisfies never;
  }
}

function onStop(state: SlotState, input: MachineInput & { readonly type: "stop" }, policy: Policy): MachineStep {
  const { next, cause, at, held = false } = input;
  switch (state.status) {
    case "idle":
    case "waiting":
    case "backoff":
      if (next === "start") return onStart(state, input, policy);
      return stay(next === "idle" ? withoutRun(state, input) : state);
    case "starting":
      return stopStart(state, input);
    case "running":
      if (held) return hold(state, { pid: state.pid, started: state.since, next, cause }, { at });
      return stopRun(state, { next, cause }, { at, policy });
    // The latest request wins, but neither "let the policy decide" nor a lack of clients overrides an operator's request.
    case "stopping":
      if (next === "policy" || cause === "idle") return stay(state);
      return stay({ ...state, next, cause, ...(held && state.phase === "spawning" && { held }) });
    default:
      return state satisfies never;
  }
}

/** A stop of what sleeps closes its port, and what was never started may begin asleep. */
function withoutRun(
  state: SlotState & { readonly status: "idle" | "waiting" | "backoff" },
  { cause, at }: MachineInput & { readonly type: "stop" },
): SlotState {
  if (state.status !== "idle") return idle(state, restOf(cause, at, "ending" in state ? state.ending : undefined));
  const { outcome } = state;
  if (cause === "idle") return outcome.kind === "never-started" ? idle(state, restOf(cause, at)) : state;
  return outcome.kind === "asleep" ? idle(state, restOf(cause, at, outcome.ending)) : state;
}

/** The outcome of a stop. */
function restOf(cause: StopCause, at: number, ending?: ExitInfo): RunOutcome {
  const end = ending === undefined ? {} : { ending };
  return cause === "idle" ? { kind: "asleep", since: at, ...end } : { kind: "stopped", ...end };
}

/** What depends on a process whose hook runs has nothing to wait for: the process doesn't run. */
function stopStart(
  state: SlotState & { readonly status: "starting" },
  { next, cause, held = false }: MachineInput & { readonly type: "stop" },
): MachineStep {
  const stopping = { ...base(state), status: "stopping", phase: "spawning", next, cause } as const;
  if (state.hookSince === undefined) return stay({ ...stopping, ...(held && { held }) });
  return { state: { ...stopping, hookSince: state.hookSince }, effects: [{ type: "end-hook", run: state.run }] };
}

function onCancelRestart(state: SlotState, policy: Policy): MachineStep {
  return stay(state.status === "backoff" ? idle(state, outcomeOf(state, policy)) : state);
}

/** The block has cancelled its wait, or the policy's decision about its last run. */
function onUnblocked(state: SlotState, input: MachineInput, policy: Policy): MachineStep {
  if (state.status !== "idle") return stay(state);
  const { outcome } = state;
  if (outcome.kind === "stopped" || outcome.kind === "never-started") return onStart(state, input, policy);
  if (outcome.kind !== "failed" && outcome.kind !== "finished") return stay(state);
  const { ending } = outcome;
  const cause = ("fault" in outcome ? outcome.fault : undefined) ?? "itself";
  const isFinal =
    !wantsRestart(policy, outcome.kind === "failed") || (ending.kind === "unstartable" && ending.permanent);
  return isFinal ? stay(state) : decide(state, { ending, cause, started: input.at }, { input, policy });
}

function onSpawned(state: SlotState, pid: number, at: number, policy: Policy): MachineStep {
  if (state.status === "starting")
    return stay({ ...base(state), status: "running", pid, since: at, ready: policy.readyMs === undefined });
  if (state.status === "stopping" && state.phase === "spawning")
    return (state.held ? hold : beginStop)(
      state,
      { pid, started: at, next: state.next, cause: state.cause },
      { at, policy },
    );
  return stay(state);
}

/** Handles what probes reported about a run. If no policy would restart an unhealthy run, it keeps running without new connections. */
function onReport(
  state: RunningState,
  input: MachineInput & { readonly type: "ready" | "health" | "fault" },
  policy: Policy,
): MachineStep {
  if (input.type === "ready") return stay(state.ready ? state : { ...state, ready: true });
  if (input.type === "fault") return stopRun(state, { next: "policy", cause: input.fault }, { at: input.at, policy });
  const known = state.healthy === input.good ? state : { ...state, healthy: input.good };
  if (input.good || input.held === true || !wantsRestart(policy, true)) return stay(known);
  return stopRun(known, { next: "policy", cause: "unhealthy" }, { at: input.at, policy });
}

function onEnded(state: SlotState, input: MachineInput & { readonly type: "ended" }, policy: Policy): MachineStep {
  if (input.restarted) return onEndedAndRestarted(state, input, policy);
  const { ending, at, survivors } = input;
  switch (state.status) {
    case "starting":
      return decide(state, { ending, cause: "itself", started: at }, { input, policy });
    case "running": {
      const { pid, since: started } = state;
      const over = {
        ...base(state),
        status: "stopping",
        next: "policy",
        cause: "itself",
        pid,
        started,
        since: at,
        ending,
      } as const;
      return survivors ? sweep({ ...over, phase: "cleanup" }) : afterRun(over, input, policy);
    }
    case "stopping": {
      if (state.phase === "spawning") return conclude({ ...state, started: at, ending }, input, policy);
      if ("ending" in state) return stay(state);
      const phase = state.phase === "kill" ? "cleanup-kill" : "cleanup";
      // The stop timeout counts from SIGTERM, whether or not the leader exits before its children.
      return sweep({
        ...state,
        phase,
        since: state.phase === "grace" || state.phase === "waiting-dependents" ? at : state.since,
        ending,
      });
    }
    case "idle":
    case "waiting":
    case "backoff":
      return stay(state);
    default:
      return state satisfies never;
  }
}

/** The keeper started the next run by its restart order. The run stays if the policy still wants it; it is stopped if another request came meanwhile. */
function onEndedAndRestarted(
  state: SlotState,
  input: MachineInput & { readonly type: "ended" },
  policy: Policy,
): MachineStep {
  if (!("pid" in state) || "ending" in state) return stay(state);
  const [intent, started]: [StopIntent, number] =
    state.status === "running" ? [{ next: "policy", cause: "itself" }, state.since] : [state, state.started];
  const adoptNext = { type: "adopt-restarted", run: state.run + 1 } as const;
  const end = { ending: input.ending, cause: intent.cause, started };
  const { state: next } = decide(state, end, { input: { ...input, nextRun: adoptNext.run }, policy });
  // A hook beforeStart that was added meanwhile applies from the next start.
  if (intent.next === "policy" && next.status === "starting")
    return { state: { ...base(next), status: "starting" }, effects: [adoptNext] };
  const held = state.status === "stopping" && state.phase === "waiting-dependents";
  const { cause } = intent;
  const unwanted = {
    next: intent.next,
    cause: cause === "itself" ? "operator" : cause,
    ...(held && { held }),
  } as const;
  return {
    state: { ...base(state), run: adoptNext.run, status: "stopping", phase: "spawning", ...unwanted },
    effects: [adoptNext],
  };
}

function onTimer(state: SlotState, input: MachineInput & { readonly type: "timer" }, policy: Policy): MachineStep {
  const { name, at } = input;
  if (name === "restart" && state.status === "backoff") {
    const next = { run: state.run, restarts: state.restarts + 1 };
    return policy.waits ? stay({ ...next, status: "waiting" }) : launch(next, { input, policy });
  }
  if (state.status === "running") return onRunTimer(state, input, policy);
  if (name === "escalate" && state.status === "stopping") {
    if (state.phase === "grace") return askToEnd({ ...state, phase: "terminate", since: at }, state.pid, policy);
    if (state.phase === "terminate") return kill({ ...state, phase: "kill", since: at }, state.pid);
    if (state.phase === "cleanup") return sweep({ ...state, phase: "cleanup-kill", since: at });
  }
  return stay(state);
}

function onRunTimer(
  state: RunningState,
  { name, at }: MachineInput & { readonly type: "timer" },
  policy: Policy,
): MachineStep {
  const cause = name === "timeout" ? name : name === "ready" && !state.ready ? "unready" : undefined;
  return cause === undefined ? stay(state) : stopRun(state, { next: "policy", cause }, { at, policy });
}

function onHookEnded(state: SlotState, input: MachineInput, policy: Policy): MachineStep {
  if (state.status === "starting" && state.hookSince !== undefined) return spawn(base(state));
  if (state.status !== "stopping") return stay(state);
  if (state.phase === "after-stop") return conclude({ ...state, ended: state.since }, input, policy);
  // The hook ended before the stop could end it: nothing was spawned.
  return state.phase === "spawning" && state.hookSince !== undefined
    ? conclude({ ...state, started: input.at, ending: UNSPAWNED }, input, policy)
    : stay(state);
}

function withLeft(ending: ExitInfo, left: number | undefined): ExitInfo {
  return left === undefined || ending.kind === "unstartable" ? ending : { ...ending, left };
}

/** Nothing of the run is left that can be ended: its hook runs before anything else happens. */
function afterRun(state: Omit<Sweeping, "phase">, input: MachineInput, policy: Policy): MachineStep {
  if (policy.afterStop === undefined) return conclude(state, input, policy);
  const { run, ending } = state;
  return {
    state: { ...state, phase: "after-stop", since: input.at },
    effects: [{ type: "run-hook", run, hook: "afterStop", ending }],
  };
}

/** `ended`: absent: now. */
type RunEnd = {
  readonly ending: ExitInfo;
  readonly cause: StopCause;
  readonly started: number;
  readonly ended?: number;
};

/** The slot is empty now: carries out what was requested for it. */
function conclude(
  state: Base & StopIntent & RunEnd & { readonly hookSince?: number },
  input: MachineInput,
  policy: Policy,
): MachineStep {
  if (state.next === "policy") return decide(state, state, { input, policy });
  // A stop during the hook before the start has ended no run.
  const stopped = idle(state, restOf(state.cause, input.at, state.hookSince === undefined ? state.ending : undefined));
  return state.next === "idle" ? stay(stopped) : onStart(stopped, input, policy);
}

/** The only place that decides whether an ended run is restarted. */
function decide(state: Base, end: RunEnd, { input, policy }: StepContext): MachineStep {
  const fault = faultOf(end.cause);
  const failed = fault !== undefined || (end.cause === "itself" && !isSuccess(end.ending, policy));
  const failure = { ending: end.ending, ...(fault && { fault }) };
  const permanent = end.ending.kind === "unstartable" && end.ending.permanent;
  if (permanent || !wantsRestart(policy, failed))
    return stay(idle(state, failed ? { kind: "failed", ...failure } : ended(end, policy)));
  // A scheduled restart is not counted or delayed.
  if (end.cause === "terminate")
    return policy.waits
      ? onStart(idle(state, { kind: "stopped", ending: end.ending }), input, policy)
      : launch(state, { input, policy });
  const restarts = isStable(end, input.at, policy) ? 0 : state.restarts;
  if (restarts >= policy.restartLimit)
    return stay(idle({ run: state.run, restarts }, { kind: "exhausted", ...failure }));
  const delay = restartDelay(policy, restarts, input.chance);
  if (delay === 0 && !policy.waits) return launch({ run: state.run, restarts: restarts + 1 }, { input, policy });
  return stay({ status: "backoff", run: state.run, restarts, until: input.at + delay, ...failure });
}

function isStable({ started, ended }: RunEnd, at: number, { restartResetMs }: Policy): boolean {
  return (ended ?? at) - started >= restartResetMs;
}

function ended(
  { ending, cause }: { readonly ending: ExitInfo; readonly cause: StopCause },
  policy: Policy,
): RunOutcome {
  return cause === "itself" ? outcomeOf({ ending }, policy) : { kind: "stopped", ending };
}

function stopRun(
  state: RunningState,
  intent: StopIntent,
  when: { readonly at: number; readonly policy: Policy },
): MachineStep {
  return beginStop(state, { pid: state.pid, started: state.since, ...intent }, when);
}

/** Delays the stop until the dependents have exited. */
function hold(
  state: Base,
  child: StopIntent & { readonly pid: number; readonly started: number },
  { at }: { readonly at: number },
): MachineStep {
  return stay({ ...base(state), ...child, status: "stopping", phase: "waiting-dependents", since: at });
}

function beginStop(
  state: Base,
  child: StopIntent & { readonly pid: number; readonly started: number },
  { at, policy }: { readonly at: number; readonly policy: Policy },
): MachineStep {
  const { next, cause, pid, started } = child;
  const stopping = { ...base(state), next, cause, pid, started, status: "stopping", since: at } as const;
  if (policy.graceMs > 0)
    return { state: { ...stopping, phase: "grace" }, effects: [{ type: "stop", run: state.run, pid }] };
  return askToEnd({ ...stopping, phase: "terminate" }, child.pid, policy);
}

type StepContext = { readonly input: MachineInput; readonly policy: Policy };

function launch({ restarts }: Base, { input: { nextRun: run, at }, policy }: StepContext): MachineStep {
  if (policy.beforeStart === undefined) return spawn({ run, restarts });
  return {
    state: { status: "starting", run, restarts, hookSince: at },
    effects: [{ type: "run-hook", run, hook: "beforeStart" }],
  };
}

function spawn({ run, restarts }: Base): MachineStep {
  return { state: { status: "starting", run, restarts }, effects: [{ type: "spawn", run }] };
}

function askToEnd(state: SlotState, pid: number, policy: Policy): MachineStep {
  const signal = stopSignalOf(policy);
  return {
    state,
    effects: [{ type: "stop", run: state.run, pid, signal, ...(policy.killMode && { to: policy.killMode }) }],
  };
}

function kill(state: SlotState, pid: number): MachineStep {
  return { state, effects: [{ type: "kill", run: state.run, pid }] };
}

function sweep(state: Sweeping): MachineStep {
  return {
    state,
    effects: [
      { type: "sweep", run: state.run, pid: state.pid, signal: state.phase === "cleanup" ? "SIGTERM" : "SIGKILL" },
    ],
  };
}

function idle(state: Base, outcome: RunOutcome): SlotState {
  return { ...base(state), status: "idle", outcome };
}

function base({ run, restarts }: Base): Base {
  return { run, restarts };
}

function stay(state: SlotState): MachineStep {
  return { state, effects: [] };
}

export function faultOf(cause: StopCause): RunFault | undefined {
  switch (cause) {
    case "operator":
    case "terminate":
    case "watch":
    case "idle":
    case "itself":
      return undefined;
    default:
      return cause;
  }
}

/** The outcome of a run that was not asked to stop, or was stopped because of a fault. */
function outcomeOf(
  { ending, fault }: { readonly ending: ExitInfo; readonly fault?: RunFault },
  policy: Policy,
): RunOutcome {
  if (fault !== undefined) return { kind: "failed", ending, fault };
  return isSuccess(ending, policy) ? { kind: "finished", ending } : { kind: "failed", ending };
}
