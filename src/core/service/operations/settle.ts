/** The one wait of all operations: until each target is up or has failed, the time is over, or nobody waits any more. */

import { ProcmanError } from "../../base/errors.ts";

/** `up`: what was asked for is the case. */
export type Verdict = "up" | "failed" | "pending";

/** `watch` calls after each change, until the returned function is called. */
export type ChangeSource = { readonly watch: (call: () => void) => () => void };

export type Target = {
  /** They report when to look again. */
  readonly sources: readonly ChangeSource[];
  /** `again`: look again after this many milliseconds, too. */
  readonly look: (again: (ms: number) => void) => Verdict;
};

export type SettleLimits = { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined };

/**
 * Resolves with the verdict on each target when none is pending any more, after the time, or on abort. A target that
 * has settled is not looked at again: a run may end right after.
 */
export function settle(targets: readonly Target[], { timeoutMs, signal }: SettleLimits): Promise<readonly Verdict[]> {
  const verdicts = targets.map((): Verdict => "pending");
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const drop = (): void => {
      clearTimeout(timer);
      clearTimeout(deadline);
      for (const dropWatch of watches) dropWatch();
      signal?.removeEventListener("abort", end);
    };
    const end = (): void => {
      drop();
      resolve(verdicts);
    };
    const look = (): void => {
      clearTimeout(timer);
      try {
        const nextMs = lookAtPending(targets, verdicts);
        if (!verdicts.includes("pending")) end();
        else if (nextMs < Number.POSITIVE_INFINITY) timer = setTimeout(look, Math.max(1, Math.ceil(nextMs)));
      } catch (error) {
        drop();
        reject(error);
      }
    };
    const deadline = timeoutMs === undefined ? undefined : setTimeout(end, timeoutMs);
    const watches = [...new Set(targets.flatMap(({ sources }) => sources))].map((source) => source.watch(look));
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    else look();
  });
}

/** Returns the milliseconds after which to look again; Infinity: not before the next change. */
function lookAtPending(targets: readonly Target[], verdicts: Verdict[]): number {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const [index, target] of targets.entries())
    if (verdicts[index] === "pending")
      verdicts[index] = target.look((ms) => {
        nextMs = Math.min(nextMs, ms);
      });
  return nextMs;
}

/** Why an operation has failed. */
export type OperationFailure = {
  readonly problem: string;
  /** The one that has not come up. */
  readonly process?: string;
};

/** An operation under way as a target. */
export class AwaitedOperation implements Target {
  readonly #calls = new Set<() => void>();
  readonly sources: readonly ChangeSource[] = [this];
  failure: OperationFailure | undefined;
  #verdict: Verdict = "pending";

  constructor(done: Promise<OperationFailure | undefined>) {
    void done.then((failure) => {
      this.#verdict = failure === undefined ? "up" : "failed";
      this.failure = failure;
      for (const call of this.#calls) call();
    });
  }

  watch(call: () => void): () => void {
    this.#calls.add(call);
    return () => this.#calls.delete(call);
  }

  look(): Verdict {
    return this.#verdict;
  }
}

export function operationFailed(code: "roll-failed" | "reload-failed", failure: OperationFailure): ProcmanError {
  const { problem, process } = failure;
  return new ProcmanError(code, problem, process === undefined ? {} : { processes: [process] });
}
