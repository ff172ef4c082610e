/**
 * One slot that runs at most one child at a time, as a pure state machine.
 *
 * `step` says what happens next; which deadlines a state has is in `deadlines.ts`. Nothing here reads a
 * clock, starts a process or logs: time comes in on inputs, work goes out as effects.
 */
import { faultOf, isSuccess, outcomeOf } from "./outcome.ts";
import { type Policy, restartDelay, stopSignalOf, wantsRestart } from "./restart-policy.ts";
import type { Base, Ending, Input, Instance, Outcome, Plan, Running, SignalName, Step, StopCause, Sweeping } from "./states.ts";

export function step(state: Instance, input: Input, policy: Policy): Step {
  if ("run" in input && input.run !== state.run) return stay(state);
  switch (input.type) {
    case "start":
      return onStart(state, policy);
    case "stop":
      return onStop(state, input, policy);
    case "cancel-restart":
      return state.status === "backoff" ? stay(idle(state, outcomeOf(state))) : stay(state);
    case "dependencies-ready":
      return state.status === "waiting" ? launch(state) : stay(state);
    case "dependents-gone":
      return state.status === "stopping" && state.phase === "held" ? beginStop(state, state, { at: input.at, policy }) : stay(state);
    case "spawned":
      return onSpawned(state, input.pid, input.at, policy);
    case "ready":
    case "health":
    case "fault":
      return state.status === "running" ? onReport(state, input, policy) : stay(state);
    case "ended":
      return onEnded(state, input, policy);
    case "swept":
      return state.status === "stopping" && "ending" in state ? conclude(state, input, policy) : stay(state);
    case "timer":
      return onTimer(state, input, policy);
    default:
      return input satisfies never;
  }
}

function onStart(state: Instance, policy: Policy): Step {
  switch (state.status) {
    case "idle":
    case "backoff":
      return policy.waits ? stay({ run: state.run, restarts: 0, status: "waiting" }) : launch({ ...state, restarts: 0 });
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

function onStop(state: Instance, { next, cause, at, held = false }: Input & { readonly type: "stop" }, policy: Policy): Step {
  switch (state.status) {
    case "idle":
      return next === "start" ? onStart(state, policy) : stay(state);
    case "waiting":
      return next === "idle" ? stay(idle(state, { kind: "stopped" })) : stay(state);
    case "backoff": {
      if (next === "start") return onStart(state, policy);
      return next === "idle" ? stay(idle(state, { kind: "stopped", ending: state.ending })) : stay(state);
    }
    case "starting":
      return stay({ ...base(state), status: "stopping", phase: "spawning", next, cause, ...(held && { held }) });
    case "running":
      if (held) return hold(state, { pid: state.pid, started: state.since, next, cause }, { at });
      return stopRun(state, { next, cause }, { at, policy });
    // The latest wish counts; a mere "let the policy decide" doesn't overrule an operator's.
    case "stopping":
      if (next === "policy") return stay(state);
      return stay({ ...state, next, cause, ...(held && state.phase === "spawning" && { held }) });
    default:
      return state satisfies never;
  }
}

function onSpawned(state: Instance, pid: number, at: number, policy: Policy): Step {
  if (state.status === "starting") return stay({ ...base(state), status: "running", pid, since: at, ready: policy.readyMs === undefined });
  if (state.status === "stopping" && state.phase === "spawning")
    return (state.held ? hold : beginStop)(state, { pid, started: at, next: state.next, cause: state.cause }, { at, policy });
  return stay(state);
}

/** What was found out about a run. One that is not well and that no policy would start again had better run on, though nobody is sent to it. */
function onReport(state: Running, input: Input & { readonly type: "ready" | "health" | "fault" }, policy: Policy): Step {
  if (input.type === "ready") return stay(state.ready ? state : { ...state, ready: true });
  if (input.type === "fault") return stopRun(state, { next: "policy", cause: input.fault }, { at: input.at, policy });
  if (state.healthy === input.good) return stay(state);
  const known = { ...state, healthy: input.good };
  if (input.good || !wantsRestart(policy, true)) return stay(known);
  return stopRun(known, { next: "policy", cause: "unhealthy" }, { at: input.at, policy });
}

function onEnded(state: Instance, input: Input & { readonly type: "ended" }, policy: Policy): Step {
  if (input.followed) return onFollowed(state, input, policy);
  const { ending, at, survivors } = input;
  switch (state.status) {
    case "starting":
      return decide(state, { ending, cause: "itself", started: at }, { input, policy });
    case "running": {
      if (!survivors) return decide(state, { ending, cause: "itself", started: state.since }, { input, policy });
      return sweep({
        ...base(state),
        status: "stopping",
        phase: "sweep",
        next: "policy",
        cause: "itself",
        pid: state.pid,
        started: state.since,
        since: at,
        ending,
      });
    }
    case "stopping": {
      if (state.phase === "spawning") return conclude({ ...state, started: at, ending }, input, policy);
      if ("ending" in state) return stay(state);
      const phase = state.phase === "kill" ? "sweep-kill" : "sweep";
      // The time that the stop may take is counted from its SIGTERM, whoever of the run outlives whom.
      return sweep({ ...state, phase, since: state.phase === "grace" || state.phase === "held" ? at : state.since, ending });
    }
    case "idle":
    case "waiting":
    case "backoff":
      return stay(state);
    default:
      return state satisfies never;
  }
}

/** The next run is what the policy wants, as it was when that was prepared; or somebody has had another wish meanwhile, and it is stopped. */
function onFollowed(state: Instance, input: Input & { readonly type: "ended" }, policy: Policy): Step {
  if (!("pid" in state) || "ending" in state) return stay(state);
  const [plan, started]: [Plan, number] =
    state.status === "running" ? [{ next: "policy", cause: "itself" }, state.since] : [state, state.started];
  const follow = { type: "follow", run: state.run + 1 } as const;
  const { state: next } = decide(state, { ending: input.ending, cause: plan.cause, started }, { input, policy });
  if (plan.next === "policy" && next.status === "starting") return { state: next, effects: [follow] };
  const held = state.status === "stopping" && state.phase === "held";
  const { cause } = plan;
  const unwanted = { next: plan.next, cause: cause === "itself" ? "operator" : cause, ...(held && { held }) } as const;
  return { state: { ...base(state), run: follow.run, status: "stopping", phase: "spawning", ...unwanted }, effects: [follow] };
}

function onTimer(state: Instance, input: Input & { readonly type: "timer" }, policy: Policy): Step {
  const { name, at } = input;
  if (name === "restart" && state.status === "backoff") {
    const next = { run: state.run, restarts: state.restarts + 1 };
    return policy.waits ? stay({ ...next, status: "waiting" }) : launch(next);
  }
  if (state.status === "running") return onRunTimer(state, input, policy);
  if (name === "escalate" && state.status === "stopping") {
    if (state.phase === "grace") return signal({ ...state, phase: "terminate", since: at }, state.pid, stopSignalOf(policy));
    if (state.phase === "terminate") return signal({ ...state, phase: "kill", since: at }, state.pid, "SIGKILL");
    if (state.phase === "sweep") return sweep({ ...state, phase: "sweep-kill", since: at });
  }
  return stay(state);
}

function onRunTimer(state: Running, { name, at }: Input & { readonly type: "timer" }, policy: Policy): Step {
  const cause = name === "timeout" ? name : name === "ready" && !state.ready ? "unready" : undefined;
  return cause === undefined ? stay(state) : stopRun(state, { next: "policy", cause }, { at, policy });
}

/** The slot is empty now: what was planned for it? */
function conclude(state: Base & Plan & { readonly ending: Ending; readonly started: number }, input: Input, policy: Policy): Step {
  if (state.next === "idle") return stay(idle(state, { kind: "stopped", ending: state.ending }));
  if (state.next === "start") return onStart(idle(state, { kind: "stopped", ending: state.ending }), policy);
  return decide(state, state, { input, policy });
}

/** The only place that decides whether an ended child comes back. */
function decide(
  state: Base,
  end: { readonly ending: Ending; readonly cause: StopCause; readonly started: number },
  { input, policy }: { readonly input: Input; readonly policy: Policy },
): Step {
  const fault = faultOf(end.cause);
  const failed = fault !== undefined || (end.cause === "itself" && !isSuccess(end.ending));
  const failure = { ending: end.ending, ...(fault && { fault }) };
  const permanent = end.ending.kind === "unstartable" && end.ending.permanent;
  if (permanent || !wantsRestart(policy, failed)) return stay(idle(state, failed ? { kind: "failed", ...failure } : ended(end)));
  // A restart by schedule is none that has to be counted, or put off.
  if (end.cause === "terminate")
    return policy.waits ? onStart(idle(state, { kind: "stopped", ending: end.ending }), policy) : launch(state);
  const stable = input.at - end.started >= policy.restartResetMs;
  const restarts = stable ? 0 : state.restarts;
  if (restarts >= policy.restartLimit) return stay(idle({ run: state.run, restarts }, { kind: "exhausted", ...failure }));
  const delay = restartDelay(policy, restarts, input.chance);
  if (delay === 0 && !policy.waits) return launch({ run: state.run, restarts: restarts + 1 });
  return stay({ status: "backoff", run: state.run, restarts, until: input.at + delay, ...failure });
}

function ended({ ending, cause }: { readonly ending: Ending; readonly cause: StopCause }): Outcome {
  return cause === "itself" ? outcomeOf({ ending }) : { kind: "stopped", ending };
}

function stopRun(state: Running, plan: Plan, when: { readonly at: number; readonly policy: Policy }): Step {
  return beginStop(state, { pid: state.pid, started: state.since, ...plan }, when);
}

/** Its stop begins when whoever depends on it has ended. */
function hold(state: Base, child: Plan & { readonly pid: number; readonly started: number }, { at }: { readonly at: number }): Step {
  return stay({ ...base(state), ...child, status: "stopping", phase: "held", since: at });
}

function beginStop(
  state: Base,
  child: Plan & { readonly pid: number; readonly started: number },
  { at, policy }: { readonly at: number; readonly policy: Policy },
): Step {
  const { next, cause, pid, started } = child;
  const stopping = { ...base(state), next, cause, pid, started, status: "stopping", since: at } as const;
  if (policy.graceMs > 0) return { state: { ...stopping, phase: "grace" }, effects: [{ type: "drain", run: state.run }] };
  return signal({ ...stopping, phase: "terminate" }, child.pid, stopSignalOf(policy));
}

function launch(state: Base): Step {
  const run = state.run + 1;
  return { state: { status: "starting", run, restarts: state.restarts }, effects: [{ type: "spawn", run }] };
}

function signal(state: Instance, pid: number, name: SignalName): Step {
  return { state, effects: [{ type: "signal", run: state.run, pid, signal: name }] };
}

function sweep(state: Sweeping): Step {
  return { state, effects: [{ type: "sweep", run: state.run, pid: state.pid, signal: state.phase === "sweep" ? "SIGTERM" : "SIGKILL" }] };
}

function idle(state: Base, outcome: Outcome): Instance {
  return { ...base(state), status: "idle", outcome };
}

function base({ run, restarts }: Base): Base {
  return { run, restarts };
}

function stay(state: Instance): Step {
  return { state, effects: [] };
}
