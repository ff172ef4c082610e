/** Waits until what was asked for is so: no looking again and again, each transition is heard. */
import { ProcmanError } from "../base/errors.ts";
import type { Action, ActOptions } from "../contract/control.ts";
import type { Process } from "../supervisor/process.ts";
import type { Instance } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

type Verdict = "reached" | "missed" | "open";

export type Target = {
  readonly action: Action;
  readonly processes: readonly Process[];
  /** Why a process is in its state. */
  readonly reason: (process: Process) => string;
};

/** @throws {ProcmanError} `process-failed`: it can't be reached any more; `wait-timeout` */
export async function reached(supervisor: Supervisor, target: Target, { waitSeconds, signal }: ActOptions): Promise<void> {
  if (waitSeconds === undefined) return;
  const { action, reason } = target;
  const waiting = new Set(target.processes);
  /** A run may be over as soon as it was seen. */
  const look = (): boolean => {
    for (const process of waiting) {
      const verdict = verdictOn(process, action);
      if (verdict === "missed") throw failed(action, process.id, reason(process));
      if (verdict === "reached") waiting.delete(process);
    }
    return waiting.size === 0;
  };
  if (look()) return;
  const { promise, resolve, reject } = deferred();
  const drop = supervisor.watch(() => {
    try {
      if (look()) resolve();
    } catch (error) {
      reject(error);
    }
  });
  const timer = setTimeout(() => reject(late(action, [...waiting], { waitSeconds, reason })), waitSeconds * 1_000);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    drop();
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** @throws {ProcmanError} `roll-failed`, `wait-timeout` */
export async function rolled(
  rolls: readonly Promise<string | undefined>[],
  { waitSeconds = 0, signal }: Pick<ActOptions, "waitSeconds" | "signal">,
): Promise<void> {
  if (rolls.length === 0) return;
  const { promise, resolve, reject } = deferred();
  const message = `Cannot wait any longer than ${waitSeconds} s for the rolling restart; it goes on`;
  const timer = setTimeout(() => reject(new ProcmanError("wait-timeout", message)), waitSeconds * 1_000);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  void Promise.all(rolls).then((problems) => {
    const problem = problems.find((each) => each !== undefined);
    if (problem === undefined) resolve();
    else reject(new ProcmanError("roll-failed", problem));
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

function verdictOn({ states, isIdle }: Process, action: Action): Verdict {
  if (action === "block" || action === "unblock") return "reached";
  if (action === "stop") return isIdle ? "reached" : states.every(isEnding) ? "open" : "missed";
  if (states.some(({ status }) => status === "running") && states.every(isSettled)) return "reached";
  if (!isIdle) return "open";
  // A job may have done all that it had to before anybody looks.
  return states.some((state) => state.status === "idle" && state.outcome.kind === "finished") ? "reached" : "missed";
}

/** Nothing follows its end. */
function isEnding(state: Instance): boolean {
  return state.status === "idle" || (state.status === "stopping" && state.next === "idle");
}

function isSettled(state: Instance): boolean {
  return state.status === "idle" || (state.status === "running" && state.ready);
}

function failed(action: Action, id: string, reason: string): ProcmanError {
  return new ProcmanError("process-failed", `Cannot ${action} "${id}": it ${reason}`);
}

type Late = { readonly waitSeconds: number; readonly reason: (process: Process) => string };

function late(action: Action, [first, ...others]: readonly Process[], { waitSeconds, reason }: Late): ProcmanError {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  const state = first === undefined ? "" : ` of "${first.id}"${more}, which ${reason(first)}`;
  return new ProcmanError("wait-timeout", `Cannot wait any longer than ${waitSeconds} s for the ${action}${state}; it goes on`);
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: unknown) => void } {
  let resolve = (): void => undefined;
  let reject = (_error: unknown): void => undefined;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
