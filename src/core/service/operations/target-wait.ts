/** `?wait`: until the processes of an action are up or have ended, and until rolling restarts are over. */
import { ProcmanError } from "../../base/errors.ts";
import type { Action, ActOptions } from "../../contract/control.ts";
import type { Process } from "../../supervisor/process.ts";
import type { SlotState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { isBeingStopped, isIdle, isStartingOrRunning } from "../../supervisor/verdict.ts";
import { type StartSource, type StartVerdict, StartWatch } from "./start-verdict.ts";
import { waitUntil, withTimeout } from "./wait.ts";

export type Target = StartSource & {
  readonly action: Action;
  readonly processes: readonly Process[];
  /** Status text of a process. */
  readonly reason: (process: Process) => string;
};

type WatchedTarget = Target & { readonly verdict: (process: Process) => StartVerdict };

/** To be called right after the action. `isRolled`: a rolling restart has made sure that it is up. */
export function watchTarget(target: Target, isRolled: (process: Process) => boolean = () => false): WatchedTarget {
  const { action, processes } = target;
  if (!isStart(action)) return { ...target, verdict: (process) => endVerdict(process, action) };
  const watches = new Map(processes.map((process) => [process, new StartWatch(process, target)]));
  const verdict = (process: Process): StartVerdict => {
    const found = watches.get(process)?.verdict() ?? "up";
    return typeof found === "number" && isRolled(process) ? "up" : found;
  };
  return { ...target, verdict };
}

/**
 * Waits until all processes have reached the action's state, or can't any more. Those that a reload or a scaling
 * removes meanwhile are left out of the wait for a start, unless it removes all.
 *
 * @throws {ProcmanError} `process-failed`: these can't; `wait-timeout`
 */
export async function waitForTarget(
  supervisor: Supervisor,
  target: WatchedTarget,
  { waitSeconds, signal }: ActOptions,
): Promise<void> {
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
  const work = waitUntil([supervisor, target.balancing], check, stop.signal);
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

/** Resolves when all waits have. @throws {ProcmanError} one error that names the failure of each */
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

function endVerdict(process: Process, action: Action): StartVerdict {
  const { states } = process;
  if (action === "stop" && states.some(hasLeft)) return "failed";
  if ((action !== "stop" && action !== "restart") || process.isIdle) return "up";
  return states.every(isEnding) ? "pending" : "failed";
}

/** Some of its processes couldn't be ended. */
function hasLeft(state: SlotState): boolean {
  if (!isIdle(state) || !("ending" in state.outcome)) return false;
  const { ending } = state.outcome;
  return ending !== undefined && ending.kind !== "unstartable" && ending.left !== undefined;
}

/** Stopped, or being stopped without another start after it. */
function isEnding(state: SlotState): boolean {
  return isIdle(state) || isBeingStopped(state);
}

function actionFailed(process: Process, { action, reason, lastEnd }: Target): ProcmanError {
  const { id, states } = process;
  // The policy has started it again.
  const isNextRun = action !== "stop" && states.some(isStartingOrRunning);
  const why = isNextRun ? `${lastEnd(id)?.reason ?? "ended soon after its start"}; it was restarted` : reason(process);
  return new ProcmanError("process-failed", `Cannot ${action} "${id}": it ${why}`);
}

function removedMeanwhile({ id }: Process, { action }: Target): ProcmanError {
  return new ProcmanError(
    "process-failed",
    `Cannot ${action} "${id}": it was removed from the configuration meanwhile`,
  );
}

function isStart(action: Action): boolean {
  return action === "start" || action === "restart";
}

function timeoutError(
  { action, reason }: Target,
  [first, ...others]: readonly Process[],
  waitSeconds: number,
): ProcmanError {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const [subject, state] = first === undefined ? ["", ""] : [` of "${first.id}"${more}`, `; it ${reason(first)}`];
  const problem = `timed out after ${waitSeconds} s${state}; the ${action} continues in the background`;
  return new ProcmanError("wait-timeout", `Cannot wait for the ${action}${subject}: ${problem}`);
}
