/** The waits of operations and of `?wait`: for a process to be ready, in rotation or in its target state, for rolling restarts and reloads. */
import { ProcmanError } from "../../base/errors.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Action, ActOptions } from "../../contract/control.ts";
import type { PlannedChange, PlanRecord } from "../../contract/plan.ts";
import type { Incident } from "../../contract/records.ts";
import { isUnderWay } from "../../supervisor/definition.ts";
import type { Process } from "../../supervisor/process.ts";
import type { SlotState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { type StartVerdict, StartWatch } from "./start-verdict.ts";

/** Added to the limits for the previous run's end and for readiness: time that an instance may take to be in rotation. Milliseconds. */
const IN_ROTATION_MS = 60_000;
/** The longest wait for a process that a reload starts. Milliseconds. */
const RELOAD_LIMIT_MS = 3_600_000;

export type Timeouts = {
  /** A run must last this long to count as up. Milliseconds. */
  readonly steadyMs: number;
  /** Milliseconds; extended while it waits for dependencies that are coming up. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

/** `watch` calls after each change, until the returned function is called. */
type ChangeSource = { readonly watch: (call: () => void) => () => void };

/** What a wait for an instance needs. */
export type Instances = {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  readonly balancing: ChangeSource & {
    /** Whether the load balancer sends it connections. */
    readonly accepts: (id: string) => boolean;
  };
};

type Verdict = "up" | "down" | "pending";

/** Calls `check` now, after each change and after `checkAgainIn(ms)`. Resolves with its first result; on abort with `undefined`. */
function waitUntil<Found>(
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
async function withTimeout<Result>(
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

/** Resolves with whether the process has come up; on abort with `undefined`. */
export function waitUntilUp(supervisor: Supervisor, id: string, { steadyMs, limitMs, signal }: Timeouts): Promise<boolean | undefined> {
  const steady = new SteadyRun(steadyMs);
  const limit = new Limit(limitMs);
  let hasWaited = false;
  return waitUntil(
    [supervisor],
    (checkAgainIn) => {
      const process = processIn(supervisor, id);
      const verdict = restartVerdict(supervisor, id);
      if (verdict === "down") return false;
      const restMs = steady.restMs(verdict === "up" ? process : undefined);
      if (verdict === "up" && restMs <= 0) return true;
      if (verdict === "up") checkAgainIn(restMs);
      const waits = waitsForOthers(supervisor, id);
      // A start that has waited for others gets the whole limit.
      const isBegun = hasWaited && process?.states[0]?.status !== "waiting";
      hasWaited = waits;
      if (limit.isOver && !waits && !isBegun) return false;
      checkAgainIn(limit.restMs());
      return undefined;
    },
    signal,
  );
}

/** Resolves with whether a restarted instance is up and, behind a load balancer, gets connections. */
export async function waitInRotation(instances: Instances, id: string, { steadyMs, signal }: Omit<Timeouts, "limitMs">): Promise<boolean> {
  const { supervisor, balancing } = instances;
  const process = processIn(supervisor, id);
  if (process === undefined) return true;
  const { policy, front } = instances.spec(id);
  const { graceMs, terminateMs, readyMs } = policy;
  const limitMs = graceMs + terminateMs + (readyMs ?? 0) + IN_ROTATION_MS;
  const isShown = readyMs !== undefined || front !== undefined;
  if (!(await waitUntilUp(supervisor, id, { limitMs, signal, steadyMs: isShown ? 0 : (policy.minUptimeMs ?? steadyMs) }))) return false;
  if (front === undefined) return true;
  const limit = new Limit(IN_ROTATION_MS);
  const accepts = await waitUntil(
    [supervisor, balancing],
    (checkAgainIn) => {
      if (balancing.accepts(id)) return true;
      // It may have failed or been stopped since.
      if (startVerdict(processIn(supervisor, id)) === "down" || limit.isOver) return false;
      if (!process.states.some(isUnderWay)) return true;
      checkAgainIn(limit.restMs());
      return undefined;
    },
    signal,
  );
  return accepts ?? true;
}

export type Target = {
  readonly action: Action;
  readonly processes: readonly Process[];
  /** Status text of a process. */
  readonly reason: (process: Process) => string;
  /** How its latest run has ended. */
  readonly lastEnd: (id: string) => Pick<Incident, "cause" | "reason"> | undefined;
};

type WatchedTarget = Target & { readonly verdict: (process: Process) => StartVerdict };

/** To be called right after the action. `isRolled`: a rolling restart has made sure that it is up. */
export function watchTarget(target: Target, isRolled: (process: Process) => boolean = () => false): WatchedTarget {
  const { action, processes, lastEnd } = target;
  if (!isStart(action)) return { ...target, verdict: (process) => endVerdict(process, action) };
  const watches = new Map(processes.map((process) => [process, new StartWatch(process, () => lastEnd(process.id)?.cause)]));
  const verdict = (process: Process): StartVerdict => {
    const found = watches.get(process)?.verdict() ?? "up";
    return typeof found === "number" && isRolled(process) ? "up" : found;
  };
  return { ...target, verdict };
}

/**
 * Waits until all processes have reached the action's state, or can't any more. Those that a reload or a scaling removes meanwhile are
 * left out of the wait for a start, unless it removes all.
 *
 * @throws {ProcmanError} `process-failed`: these can't; `wait-timeout`
 */
export async function waitForTarget(supervisor: Supervisor, target: WatchedTarget, { waitSeconds, signal }: ActOptions): Promise<void> {
  if (waitSeconds === undefined) return;
  const waiting = new Set(target.processes);
  const failures: ProcmanError[] = [];
  const removed: Process[] = [];
  const stop = new AbortController();
  const starts = isStart(target.action);
  // Reached once is enough: a run may end right after.
  const settle = (process: Process): number => {
    if (starts && supervisor.isRemoved(process)) {
      waiting.delete(process);
      removed.push(process);
      return Number.POSITIVE_INFINITY;
    }
    const verdict = target.verdict(process);
    if (typeof verdict === "number") return verdict;
    const hasFailed = verdict === "failed" || (verdict === "pending" && supervisor.isSkipped(process.id));
    if (hasFailed) failures.push(actionFailed(process, target));
    if (verdict === "up" || hasFailed) waiting.delete(process);
    return Number.POSITIVE_INFINITY;
  };
  const check = (checkAgainIn: (ms: number) => void): true | undefined => {
    for (const process of waiting) checkAgainIn(settle(process));
    return waiting.size === 0 ? true : undefined;
  };
  const work = waitUntil([supervisor], check, stop.signal);
  const timedOut = (): ProcmanError => together([...failures, timeoutError(target, [...waiting], waitSeconds)]);
  try {
    await withTimeout(work, { waitSeconds, ...(signal && { signal }) }, timedOut);
  } finally {
    stop.abort();
  }
  const [gone] = removed;
  if (gone !== undefined && removed.length === target.processes.length) failures.push(removedMeanwhile(gone, target));
  if (failures.length > 0) throw together(failures);
}

/** One error that names all. */
function together([first, ...others]: readonly ProcmanError[]): ProcmanError {
  if (first === undefined || others.length === 0) return first as ProcmanError;
  return new ProcmanError(first.code, [first, ...others].map(({ message }) => message).join("\n"));
}

/** All that was asked for at once. @throws {ProcmanError} one that names all failures */
export async function waitForAll(waits: readonly Promise<void>[]): Promise<void> {
  const failures: ProcmanError[] = [];
  for (const result of await Promise.allSettled(waits)) {
    if (result.status === "fulfilled") continue;
    if (!(result.reason instanceof ProcmanError)) throw result.reason;
    failures.push(result.reason);
  }
  if (failures.length > 0) throw together(failures);
}

/** `problems`: of each rolling restart, the reason of its failure, or undefined. @throws {ProcmanError} `roll-failed`, `wait-timeout` */
export async function waitForRestarts(
  problems: readonly Promise<string | undefined>[],
  options: Pick<ActOptions, "waitSeconds" | "signal">,
): Promise<void> {
  if (problems.length === 0) return;
  const all = await withTimeout(
    Promise.all(problems),
    options,
    () =>
      new ProcmanError(
        "wait-timeout",
        `Cannot wait for the rolling restart: timed out after ${options.waitSeconds ?? 0} s; it continues in the background`,
      ),
  );
  const failures = all.flatMap((problem) => (problem === undefined ? [] : [new ProcmanError("roll-failed", problem)]));
  if (failures.length > 0) throw together(failures);
}

export type RunningReload = {
  readonly plan: PlanRecord;
  /** A run without readiness check and `minUptimeMs` counts as up after this time. Milliseconds. */
  readonly steadyMs: number;
  /** Resolves with the reason of its failure, or undefined. */
  readonly work: Promise<string | undefined>;
  readonly supervisor: Supervisor;
  readonly whyNotUp: (id: string) => string;
};

/** Waits until all processes that a reload starts or restarts are up, or have failed. @throws {ProcmanError} `reload-failed`; `wait-timeout`, also on abort */
export async function waitForReload(end: RunningReload, waitSeconds: number, signals: readonly AbortSignal[]): Promise<PlanRecord> {
  const { plan, work } = end;
  const stop = new AbortController();
  const over = AbortSignal.any([stop.signal, ...signals]);
  const timedOut = (): ProcmanError =>
    new ProcmanError("wait-timeout", `Cannot wait for the reload: timed out after ${waitSeconds} s; it continues in the background`);
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

export function isStartingOrRunning({ states: [state] }: Process): boolean {
  return state?.status === "starting" || state?.status === "running";
}

/** It is running, ready and was not restarted after a failure. */
export function isStable({ states: [state] }: Process): boolean {
  return state?.status === "running" && state.ready && state.restarts === 0;
}

async function withStartProblem(
  change: PlannedChange,
  { supervisor, steadyMs, whyNotUp }: RunningReload,
  signal: AbortSignal,
): Promise<PlannedChange> {
  if ((change.action !== "start" && change.action !== "restart") || change.rolling) return change;
  const { readyMs, minUptimeMs = steadyMs } = processIn(supervisor, change.process)?.definition.policy ?? {};
  const timeouts = { steadyMs: readyMs === undefined ? minUptimeMs : 0, limitMs: RELOAD_LIMIT_MS, signal };
  const up = await waitUntilUp(supervisor, change.process, timeouts);
  return up === false ? { ...change, problem: whyNotUp(change.process) } : change;
}

/** Measures how long the present run must still last to count as up. */
class SteadyRun {
  readonly #ms: number;
  #run: number | undefined;
  #since = 0;

  constructor(ms: number) {
    this.#ms = ms;
  }

  /** undefined (not up) resets the measure; a process that doesn't run need not last. */
  restMs(process: Process | undefined): number {
    const state = process?.states[0];
    const run = state?.status === "running" ? state.run : undefined;
    if (run !== this.#run) {
      this.#run = run;
      this.#since = performance.now();
    }
    return run === undefined ? 0 : this.#since + this.#ms - performance.now();
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

function processIn(supervisor: Supervisor, id: string): Process | undefined {
  return supervisor.processes.find((process) => process.id === id);
}

/** True if it waits for dependencies that can still come up, or runs until it restarts with one of them. */
function waitsForOthers(supervisor: Supervisor, id: string): boolean {
  if (supervisor.willFollow(id)) return true;
  const stateOf = (each: string): SlotState | undefined => processIn(supervisor, each)?.states[0];
  const isComingUp = (each: string): boolean => !["idle", "backoff", undefined].includes(stateOf(each)?.status);
  return stateOf(id)?.status === "waiting" && supervisor.unmetBy(id).every(({ members }) => members.some(isComingUp));
}

/** A process that will restart with a dependency isn't up yet. */
function restartVerdict(supervisor: Supervisor, id: string): Verdict {
  return supervisor.willFollow(id) ? "pending" : startVerdict(processIn(supervisor, id));
}

/** A process that was stopped or removed meanwhile counts as up: it has not failed. */
function startVerdict(process: Process | undefined): Verdict {
  const state = process?.states[0];
  if (state === undefined) return "up";
  if (state.status === "idle") return state.outcome.kind === "failed" || state.outcome.kind === "exhausted" ? "down" : "up";
  // The count was 0 at its start: a restart means that it has failed since.
  if (state.status === "backoff" || (state.restarts > 0 && state.status !== "stopping")) return "down";
  // `policy`: it is being stopped because a probe failed.
  if (state.status === "stopping") return state.next === "policy" ? "down" : "pending";
  return state.status === "running" && state.ready ? "up" : "pending";
}

function endVerdict({ states, isIdle }: Process, action: Action): StartVerdict {
  if ((action !== "stop" && action !== "restart") || isIdle) return "up";
  return states.every(isEnding) ? "pending" : "failed";
}

/** Stopped, or being stopped without another start after it. */
function isEnding(state: SlotState): boolean {
  return state.status === "idle" || (state.status === "stopping" && state.next === "idle");
}

function actionFailed(process: Process, { action, reason, lastEnd }: Target): ProcmanError {
  const { id, states } = process;
  // The policy has started it again.
  const isNextRun = action !== "stop" && states.some(({ status }) => status === "starting" || status === "running");
  const why = isNextRun ? `${lastEnd(id)?.reason ?? "ended soon after its start"}; it was restarted` : reason(process);
  return new ProcmanError("process-failed", `Cannot ${action} "${id}": it ${why}`);
}

function removedMeanwhile({ id }: Process, { action }: Target): ProcmanError {
  return new ProcmanError("process-failed", `Cannot ${action} "${id}": it was removed from the configuration meanwhile`);
}

function isStart(action: Action): boolean {
  return action === "start" || action === "restart";
}

function timeoutError({ action, reason }: Target, [first, ...others]: readonly Process[], waitSeconds: number): ProcmanError {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const [subject, state] = first === undefined ? ["", ""] : [` of "${first.id}"${more}`, `; it ${reason(first)}`];
  const problem = `timed out after ${waitSeconds} s${state}; the ${action} continues in the background`;
  return new ProcmanError("wait-timeout", `Cannot wait for the ${action}${subject}: ${problem}`);
}
