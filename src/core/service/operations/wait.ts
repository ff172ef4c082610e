/** The waits of operations: for a process to be up, for the end of a reload. */
import { ProcmanError } from "../../base/errors.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ActOptions } from "../../contract/control.ts";
import type { PlannedChange, PlanRecord } from "../../contract/plan.ts";
import type { Process } from "../../supervisor/process.ts";
import type { SlotState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import {
  hasFailed,
  isDown,
  isIdle,
  isInBackoff,
  isReady,
  isStopping,
  isUnhealthy,
  isWaiting,
} from "../../supervisor/verdict.ts";
import { type ChangeSource, hasLeftClients, type ServingPorts, ServingTime } from "./serving.ts";

/** Added to the limits for the previous run's end and for readiness. Milliseconds. */
const START_MS = 60_000;
/** Time that an instance which is ready may take to get connections. Milliseconds. */
const SERVING_MS = 60_000;
/** The longest wait for a process that a reload starts. Milliseconds. */
const RELOAD_LIMIT_MS = 3_600_000;

export type Timeouts = {
  /** Default of `minUptimeMs`. Milliseconds. */
  readonly steadyMs: number;
  /** Milliseconds; extended while it waits for dependencies that are coming up. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

/** What a wait for a process needs. */
export type Instances = ServingPorts & { readonly supervisor: Supervisor };

type Verdict = "up" | "down" | "pending";

/** Calls `check` now, after each change and after `checkAgainIn(ms)`. Resolves with its first result; on abort with `undefined`. */
export function waitUntil<Found>(
  sources: readonly ChangeSource[],
  check: (checkAgainIn: (ms: number) => void) => Found | undefined,
  signal?: AbortSignal,
): Promise<Found | undefined> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(timer);
      for (const drop of drops) drop();
      signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      end();
      resolve(undefined);
    };
    const poll = (): void => {
      clearTimeout(timer);
      let next = Number.POSITIVE_INFINITY;
      try {
        const found = check((ms) => {
          next = Math.min(next, ms);
        });
        if (found === undefined) {
          if (next < Number.POSITIVE_INFINITY) timer = setTimeout(poll, Math.max(1, Math.ceil(next)));
          return;
        }
        end();
        resolve(found);
      } catch (error) {
        end();
        reject(error);
      }
    };
    const drops = sources.map((source) => source.watch(poll));
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted) onAbort();
    else poll();
  });
}

/** Resolves with the result of the work; rejects with `timedOut` after `waitSeconds`, or with the signal's reason on abort. */
export async function withTimeout<Result>(
  work: Promise<Result>,
  { waitSeconds = 0, signal }: Pick<ActOptions, "waitSeconds" | "signal">,
  timedOut: () => ProcmanError,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  let abort = (): void => undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut()), waitSeconds * 1_000);
    abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Resolves when the signal is aborted. */
export function whenAborted(signal: AbortSignal): Promise<undefined> {
  return waitUntil<undefined>([], () => undefined, signal);
}

/** Resolves with whether the process has come up; on abort with `undefined`. One that was stopped or removed meanwhile has not failed. */
export function waitUntilUp(instances: Instances, id: string, timeouts: Timeouts): Promise<boolean | undefined> {
  const start = new AwaitedStart(instances, id, timeouts);
  const check = (checkAgainIn: (ms: number) => void): boolean | undefined => {
    const found = start.look();
    if (typeof found === "boolean") return found;
    checkAgainIn(found);
    return undefined;
  };
  return waitUntil([instances.supervisor, instances.balancing], check, timeouts.signal);
}

/** Resolves with whether a restarted instance is up: it serves, and has done so for its `minUptimeMs`. */
export async function waitUntilServing(
  instances: Instances,
  id: string,
  { steadyMs, signal }: Omit<Timeouts, "limitMs">,
): Promise<boolean> {
  const process = processIn(instances.supervisor, id);
  if (process === undefined) return true;
  const { graceMs, terminateMs, readyMs = 0 } = process.definition.policy;
  const limitMs = graceMs + terminateMs + readyMs + START_MS;
  return (await waitUntilUp(instances, id, { limitMs, signal, steadyMs })) ?? true;
}

/** Time that a run must serve to count as up: an instance always, another process if it has no readiness check. Milliseconds. */
function minUptimeFor({ spec }: Instances, { id, definition: { policy } }: Process, steadyMs: number): number {
  const isShown = policy.readyMs !== undefined && spec(id).cluster === undefined;
  return isShown ? 0 : (policy.minUptimeMs ?? steadyMs);
}

/** Time that a run which is ready may take to be healthy and to get connections. Milliseconds. */
function servingLimitOf({ health }: ProcessSpec): number {
  return (
    SERVING_MS + (health === undefined ? 0 : health.startMs + health.failures * (health.intervalMs + health.timeoutMs))
  );
}

export type RunningReload = {
  readonly plan: PlanRecord;
  readonly steadyMs: number;
  /** Resolves with the reason of its failure, or undefined. */
  readonly work: Promise<string | undefined>;
  readonly instances: Instances;
  readonly whyNotUp: (id: string) => string;
};

/** Waits until all processes that a reload starts or restarts are up, or have failed, and those that it stops have ended. @throws {ProcmanError} `reload-failed`; `wait-timeout`, also on abort */
export async function waitForReload(
  end: RunningReload,
  waitSeconds: number,
  signals: readonly AbortSignal[],
): Promise<PlanRecord> {
  const { plan, work } = end;
  const stop = new AbortController();
  const over = AbortSignal.any([stop.signal, ...signals]);
  const timedOut = (): ProcmanError =>
    new ProcmanError(
      "wait-timeout",
      `Cannot wait for the reload: timed out after ${waitSeconds} s; it continues in the background`,
    );
  try {
    const settled = Promise.all([work, ...plan.processes.map((change) => withStartProblem(change, end, over))]);
    const result = await withTimeout(Promise.race([settled, whenAborted(over)]), { waitSeconds }, timedOut);
    if (result === undefined) throw timedOut();
    const [problem, ...processes] = result;
    if (problem !== undefined) throw new ProcmanError("reload-failed", problem);
    return { ...plan, processes };
  } finally {
    stop.abort();
  }
}

async function withStartProblem(
  change: PlannedChange,
  { instances, steadyMs, whyNotUp }: RunningReload,
  signal: AbortSignal,
): Promise<PlannedChange> {
  if (change.action === "stop") await untilStopped(instances.supervisor, change.process, signal);
  if ((change.action !== "start" && change.action !== "restart") || change.rolling) return change;
  const up = await waitUntilUp(instances, change.process, { steadyMs, limitMs: RELOAD_LIMIT_MS, signal });
  return up === false ? { ...change, problem: whyNotUp(change.process) } : change;
}

/** A start that is awaited. */
class AwaitedStart {
  readonly #instances: Instances;
  readonly #id: string;
  readonly #steadyMs: number;
  readonly #serving: ServingTime;
  #limit: Limit;
  #hasWaited = false;
  #wasUp = false;

  constructor(instances: Instances, id: string, { steadyMs, limitMs }: Timeouts) {
    this.#instances = instances;
    this.#id = id;
    this.#steadyMs = steadyMs;
    this.#serving = new ServingTime(instances);
    this.#limit = new Limit(limitMs);
  }

  /** Whether it has come up; a number: look again after this many milliseconds. */
  look(): boolean | number {
    const { supervisor } = this.#instances;
    const process = processIn(supervisor, this.#id);
    if (process === undefined || supervisor.isRemoved(process)) return true;
    const verdict = restartVerdict(supervisor, process);
    if (verdict === "down" || hasLeftClients(process, this.#instances.spec(this.#id))) return false;
    const restMs = verdict === "up" ? this.#restMs(process) : Number.POSITIVE_INFINITY;
    if (restMs <= 0) return true;
    return this.#isLate(process) ? false : Math.min(restMs, this.#limit.restMs());
  }

  #restMs(process: Process): number {
    if (process.isIdle) return 0;
    if (!this.#wasUp) this.#limit = new Limit(servingLimitOf(this.#instances.spec(process.id)));
    this.#wasUp = true;
    return this.#serving.restMs(process, minUptimeFor(this.#instances, process, this.#steadyMs));
  }

  #isLate(process: Process): boolean {
    const waits = waitsForOthers(this.#instances.supervisor, process.id);
    // A start that has waited for others gets the whole limit.
    const isBegun = this.#hasWaited && !isWaiting(process.states[0]);
    this.#hasWaited = waits;
    return this.#limit.isOver && !waits && !isBegun && !this.#serving.isServing;
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

/** Resolves when a removed process has ended; on abort, or when it is in the configuration again, too. */
function untilStopped(supervisor: Supervisor, id: string, signal: AbortSignal): Promise<true | undefined> {
  const process = processIn(supervisor, id);
  const isOver = (): true | undefined =>
    process === undefined || process.isIdle || !supervisor.isRemoved(process) ? true : undefined;
  return waitUntil([supervisor], isOver, signal);
}

function processIn(supervisor: Supervisor, id: string): Process | undefined {
  return supervisor.processes.find((process) => process.id === id);
}

/** True if it waits for dependencies that can still come up, or runs until it restarts with one of them. */
function waitsForOthers(supervisor: Supervisor, id: string): boolean {
  if (supervisor.willFollow(id)) return true;
  const stateOf = (each: string): SlotState | undefined => processIn(supervisor, each)?.states[0];
  const isComingUp = (each: string): boolean => !isDown(stateOf(each));
  return isWaiting(stateOf(id)) && supervisor.unmetBy(id).every(({ members }) => members.some(isComingUp));
}

/** A process that will restart with a dependency isn't up yet. */
function restartVerdict(supervisor: Supervisor, process: Process): Verdict {
  return supervisor.willFollow(process.id) ? "pending" : startVerdict(process);
}

/** A process that was stopped meanwhile counts as up: it has not failed. */
function startVerdict({ states: [state] }: Process): Verdict {
  if (state === undefined) return "up";
  if (isIdle(state)) return hasFailed(state) ? "down" : "up";
  // The count was 0 at its start: a restart means that it has failed since.
  if (isInBackoff(state) || isUnhealthy(state) || (state.restarts > 0 && !isStopping(state))) return "down";
  // `policy`: it is being stopped because a probe failed.
  if (isStopping(state)) return state.next === "policy" ? "down" : "pending";
  return isReady(state) ? "up" : "pending";
}
