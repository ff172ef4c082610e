/** Whether a process that was started or restarted is up, has failed, or is still on its way. */
import { hasCommonPort } from "../../config/instances.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Process } from "../../supervisor/process.ts";
import { minUptimeOf } from "../../supervisor/restart-policy.ts";
import type { SlotState } from "../../supervisor/states.ts";
import {
  hasFailed,
  hasFinished,
  isAsleep,
  isDown,
  isIdle,
  isInBackoff,
  isReady,
  isRunning,
  isStopping,
  isUnhealthy,
  isWaiting,
} from "../../supervisor/verdict.ts";
import type { StartContext } from "./operation-context.ts";
import { type ChangeSource, settle, type Target, type Verdict } from "./settle.ts";

/** A start that fails for lack of a socket or of processes is repeated for this time. Milliseconds. */
const UNSTARTABLE_MS = 1_000;
/** Added to the limits for the previous run's end and for readiness. Milliseconds. */
const START_MS = 60_000;
/** Time that an instance which is ready may take to get connections. Milliseconds. */
const SERVING_MS = 60_000;
/** The longest wait for a process that a reload starts. Milliseconds. */
const RELOAD_LIMIT_MS = 3_600_000;
/** Interval at which an instance that does not serve yet is looked at again, beside each change. Milliseconds. */
const LOOK_MS = 500;

type StartRules = {
  /** Time that it must serve or run; absent: the `minUptimeMs` of its policy. Milliseconds. */
  readonly minUptimeMs?: number | undefined;
  /**
   * Present: it is a step of a rollout, and must come up in this time, which begins anew while it waits for dependencies
   * that are coming up. An earlier service may have begun it; one that was stopped meanwhile has not failed.
   */
  readonly limitMs?: number;
};

/**
 * A start that is awaited. An instance of a cluster must serve for its `minUptimeMs`, a task that was started by hand must
 * finish, another process must be ready, or run for that long.
 */
export class AwaitedStart implements Target {
  readonly sources: readonly ChangeSource[];
  readonly #process: Process;
  readonly #context: StartContext;
  readonly #minUptimeMs: number;
  readonly #serving: ServingTime;
  readonly #since = performance.now();
  /** Absent: the caller has a limit. */
  #limit: Limit | undefined;
  /** More restarts than these mean that a run has failed since. */
  #restarts: number;
  /** An earlier run may be unhealthy. */
  readonly #run: number;
  #hasWaited = false;
  #wasUp = false;

  /** Created right after the start was requested: that clears the count, unless the process was running already. */
  constructor(process: Process, context: StartContext, { minUptimeMs, limitMs }: StartRules = {}) {
    this.sources = [context.supervisor, context.balancing];
    this.#process = process;
    this.#context = context;
    this.#minUptimeMs = minUptimeMs ?? minUptimeOf(process.definition.policy);
    this.#serving = new ServingTime(context);
    this.#limit = limitMs === undefined ? undefined : new Limit(limitMs);
    // The count was 0 at the start of a step: a restart means that it has failed since, also before this service.
    const running = limitMs === undefined ? process.states.filter(isRunning) : [];
    this.#run = Math.max(0, ...running.map(({ run }) => run));
    this.#restarts = Math.max(0, ...running.map(({ restarts }) => restarts));
  }

  /** A restart by a rollout. `steadyMs`: default of `minUptimeMs`. */
  static inRollout(process: Process, context: StartContext, steadyMs: number): AwaitedStart {
    const { minUptimeMs = steadyMs, graceMs, terminateMs, readyMs = 0 } = process.definition.policy;
    return new AwaitedStart(process, context, { minUptimeMs, limitMs: graceMs + terminateMs + readyMs + START_MS });
  }

  /** A start by a reload, which may have to wait for its dependencies. */
  static inReload(process: Process, context: StartContext, steadyMs: number): AwaitedStart {
    const { minUptimeMs = steadyMs } = process.definition.policy;
    return new AwaitedStart(process, context, { minUptimeMs, limitMs: RELOAD_LIMIT_MS });
  }

  /** One that was removed has not failed. */
  look(again: (ms: number) => void): Verdict {
    if (this.#context.supervisor.isRemoved(this.#process)) return "up";
    const verdict = this.#verdict();
    if (verdict === "failed") return verdict;
    const restMs = verdict === "up" ? this.#restMs() : Number.POSITIVE_INFINITY;
    if (restMs <= 0) return "up";
    if (this.#isLate(verdict)) return "failed";
    again(Math.min(restMs, this.#limit?.restMs() ?? Number.POSITIVE_INFINITY));
    return "pending";
  }

  /** `up`: as long as it stays so for the time that it must. */
  #verdict(): Verdict {
    const { states, id, isIdle: hasEnded } = this.#process;
    // A process that will restart with a dependency isn't up yet.
    if (this.#mayStartYet() || (this.#isStep && this.#context.supervisor.willFollow(id))) return "pending";
    if (states.some((state) => this.#hasFailed(state)) || this.#hasLeftClients()) return "failed";
    // A short job may have finished already, and what has no client may sleep.
    if (hasEnded) return this.#isStep || states.some(hasFinished) || states.some(isAsleep) ? "up" : "failed";
    if (!this.#isStep && this.#context.specs.of(id).task === true) return "pending";
    return states.some(isRunning) && states.every((state) => isIdle(state) || isReady(state)) ? "up" : "pending";
  }

  get #isStep(): boolean {
    return this.#limit !== undefined;
  }

  #restMs(): number {
    const { id, uptimeMs, definition, isIdle: hasEnded } = this.#process;
    const spec = this.#context.specs.of(id);
    if (!this.#wasUp && this.#limit !== undefined) this.#limit = new Limit(servingLimitOf(spec));
    this.#wasUp = true;
    if (hasEnded) return 0;
    const isInstance = spec.cluster !== undefined;
    if (!isInstance && definition.policy.readyMs !== undefined) return 0;
    const isMeasured = isInstance || this.#isStep;
    return isMeasured ? this.#serving.restMs(this.#process, this.#minUptimeMs) : this.#minUptimeMs - uptimeMs;
  }

  /** Whether the policy tries again, as the process could not be started: another instance of its cluster may not have ended yet. */
  #mayStartYet(): boolean {
    if (
      this.#context.incidents.lastEnd(this.#process.id)?.cause !== "unstartable" ||
      performance.now() - this.#since > UNSTARTABLE_MS
    )
      return false;
    const [state] = this.#process.states;
    if (state === undefined || isIdle(state) || isStopping(state)) return false;
    this.#restarts = Math.max(this.#restarts, state.restarts);
    return !isRunning(state);
  }

  /** While it is being stopped it has the count of its earlier runs. */
  #hasFailed(state: SlotState): boolean {
    if (isInBackoff(state) || (isUnhealthy(state) && state.run !== this.#run)) return true;
    if (isIdle(state)) return this.#isStep && hasFailed(state);
    // `policy`: it is being stopped because a probe failed.
    return isStopping(state) ? this.#isStep && state.next === "policy" : state.restarts > this.#restarts;
  }

  /** Whether it has ended by itself, as a job does that is done, although clients reach it by a common port. */
  #hasLeftClients(): boolean {
    const { id, states } = this.#process;
    return states.some(hasFinished) && hasCommonPort(this.#context.specs.of(id));
  }

  #isLate(verdict: Verdict): boolean {
    if (this.#limit === undefined) return false;
    const waits = this.#waitsForOthers();
    // A start that has waited for others gets the whole limit.
    const isBegun = this.#hasWaited && !isWaiting(this.#process.states[0]);
    this.#hasWaited = waits;
    const isServing = verdict === "up" && this.#serving.isServing;
    return this.#limit.isOver && !waits && !isBegun && !isServing;
  }

  /** True if it waits for dependencies that can still come up, or runs until it restarts with one of them. */
  #waitsForOthers(): boolean {
    const { supervisor } = this.#context;
    const { id, states } = this.#process;
    if (supervisor.willFollow(id)) return true;
    const isComingUp = (each: string): boolean => !isDown(supervisor.statesOf(each)[0]);
    return isWaiting(states[0]) && supervisor.unmetBy(id).every(({ members }) => members.some(isComingUp));
  }
}

/** Resolves with whether an instance that a rollout has restarted comes up. One that was stopped or removed meanwhile, or is not awaited any more, has not failed. */
export async function settleRestart(
  context: StartContext,
  id: string,
  { steadyMs, signal }: { readonly steadyMs: number; readonly signal: AbortSignal },
): Promise<boolean> {
  const process = context.supervisor.processes.find((each) => each.id === id);
  if (process === undefined) return true;
  const [verdict] = await settle([AwaitedStart.inRollout(process, context, steadyMs)], { signal });
  return verdict !== "failed";
}

/** Measures how long the present run of a process has served. */
class ServingTime {
  readonly #context: StartContext;
  #run: number | undefined;
  #since = 0;

  constructor(context: StartContext) {
    this.#context = context;
  }

  get isServing(): boolean {
    return this.#run !== undefined;
  }

  /** Milliseconds after which to look again; 0 or less: it has served for `minUptimeMs`. */
  restMs(process: Process, minUptimeMs: number): number {
    const run = this.#runServing(process);
    if (run !== this.#run) {
      this.#run = run;
      this.#since = performance.now();
    }
    return run === undefined ? LOOK_MS : this.#since + minUptimeMs - performance.now();
  }

  /** The number of its run, if that serves. An instance does when its first health check has succeeded, and it gets connections. */
  #runServing({ id, states: [state] }: Process): number | undefined {
    if (!isRunning(state) || !state.ready) return undefined;
    const { cluster, health } = this.#context.specs.of(id);
    if (cluster === undefined) return state.run;
    const isWell = health === undefined || state.healthy === true;
    return isWell && this.#context.balancing.accepts(id) ? state.run : undefined;
  }
}

class Limit {
  readonly #ms: number;
  #at: number;

  constructor(ms: number) {
    this.#ms = ms;
    this.#at = performance.now() + ms;
  }

  get isOver(): boolean {
    return performance.now() >= this.#at;
  }

  /** Once the limit is over, it starts again. */
  restMs(): number {
    if (this.isOver) this.#at = performance.now() + this.#ms;
    return this.#at - performance.now();
  }
}

/** Time that a run which is ready may take to be healthy and to get connections. Milliseconds. */
function servingLimitOf({ health }: ProcessSpec): number {
  return (
    SERVING_MS + (health === undefined ? 0 : health.startMs + health.failures * (health.intervalMs + health.timeoutMs))
  );
}
