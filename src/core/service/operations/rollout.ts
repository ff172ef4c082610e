/**
 * The engine of rollouts: rolling restarts, and reloads with their way back. It carries out steps one after another, each
 * when the instances of the one before it are up. A plan says what a step does, and notes it: the next service continues
 * there after a kill.
 */
import { whyNotUp } from "../reporting/status-text.ts";
import type { OperationContext } from "./operation-context.ts";
import type { Operation } from "./operations.ts";
import { AwaitedOperation, type OperationFailure, settle } from "./settle.ts";
import { settleRestart } from "./start-verdict.ts";

/** An instance counts as up after it has served for this time, unless it has a `minUptimeMs`. Milliseconds. */
export const DEFAULT_STEADY_MS = 1_000;

export type RolloutStep = {
  /** Instances whose new runs are awaited; empty: the rollout has not begun. */
  readonly current: readonly string[];
  /** Instances that are not restarted yet. */
  readonly pending: readonly string[];
};

/** What differs between rollouts. */
export type RolloutPlan<Step extends RolloutStep> = {
  readonly kind: Operation["kind"];
  /** The beginning of its errors: `Cannot restart "web" any further`. */
  readonly cannot: string;
  /** Whether it has yet to restart this process, or instances of this cluster. */
  readonly concerns: (target: string, step: Step) => boolean;
  /** The operation that must be over before the first step; absent: none. */
  readonly blocking?: () => Operation | undefined;
  /** Sets `rollout.step` to the step that follows, notes it and carries it out. `failed`: an instance that has not come up. Returns false after the last. */
  readonly advance: (rollout: Rollout<Step>, failed: string | undefined) => boolean;
  /** Reports that an instance has not come up. Returns the text; undefined: the way back has failed, after an earlier failure. */
  readonly onFailure: (step: Step, failed: string, reason: string) => string | undefined;
  /** Another request replaces it; absent: none can. */
  readonly onCancel?: (step: Step, why: string) => void;
  /** The rollout is over. */
  readonly onEnd: (step: Step, problem: string | undefined) => void;
  readonly onBug: (problem: string) => void;
};

export class Rollout<Step extends RolloutStep> implements Operation {
  readonly kind: Operation["kind"];
  readonly done: Promise<OperationFailure | undefined>;
  step: Step;
  readonly #plan: RolloutPlan<Step>;
  readonly #context: OperationContext;
  readonly #abort = new AbortController();
  #finish: (failure: OperationFailure | undefined) => void = () => undefined;

  /** The rollout is under way from now on; `step` is, too, if it has current instances. */
  constructor(plan: RolloutPlan<Step>, step: Step, context: OperationContext) {
    this.kind = plan.kind;
    this.step = step;
    this.#plan = plan;
    this.#context = context;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    context.operations.add(this);
  }

  get pending(): readonly string[] {
    return this.step.pending;
  }

  concerns(target: string): boolean {
    return this.#plan.concerns(target, this.step);
  }

  cancel(why: string): void {
    if (this.#plan.onCancel === undefined) return;
    this.#abort.abort(`${this.#plan.cannot}: ${why}`);
    this.#context.operations.remove(this);
    this.#plan.onCancel(this.step, why);
  }

  /** Ends it here; the next service resumes it from its note. */
  retire(): void {
    this.#abort.abort();
    this.#context.operations.remove(this);
  }

  /** If it has not begun and nothing blocks it, its first step is carried out before this returns. */
  async run(): Promise<void> {
    this.#finish(await this.#carryOut().catch((bug: Error) => this.#onBug(bug)));
  }

  async #carryOut(): Promise<OperationFailure | undefined> {
    const { signal } = this.#abort;
    for (let other = this.#blocking(); other !== undefined; other = this.#blocking())
      await settle([new AwaitedOperation(other.done)], { signal });
    let failure: OperationFailure | undefined;
    for (;;) {
      const failed = this.step.current.length === 0 ? undefined : await this.#failedInstance();
      if (signal.aborted) return typeof signal.reason === "string" ? { problem: signal.reason } : failure;
      if (failed !== undefined) failure = this.#report(failed) ?? failure;
      if (!this.#plan.advance(this, failed)) break;
    }
    this.#context.operations.remove(this);
    this.#plan.onEnd(this.step, failure?.problem);
    return failure;
  }

  #report(process: string): OperationFailure | undefined {
    const problem = this.#plan.onFailure(this.step, process, whyInstanceIsNotUp(this.#context, process));
    return problem === undefined ? undefined : { problem, process };
  }

  #blocking(): Operation | undefined {
    const isWaiting = this.step.current.length === 0 && !this.#abort.signal.aborted;
    return isWaiting ? this.#plan.blocking?.() : undefined;
  }

  /** Resolves with the first of the current instances that doesn't come up, or undefined. */
  async #failedInstance(): Promise<string | undefined> {
    const { steadyMs = DEFAULT_STEADY_MS } = this.#context;
    const { signal } = this.#abort;
    for (const id of this.step.current) if (!(await settleRestart(this.#context, id, { steadyMs, signal }))) return id;
    return undefined;
  }

  /** Nobody may await it. */
  #onBug({ stack }: Error): OperationFailure {
    const problem = `${this.#plan.cannot}: this is a bug: ${stack}`;
    this.#context.operations.remove(this);
    this.#plan.onBug(problem);
    return { problem };
  }
}

export function whyInstanceIsNotUp({ supervisor, stats, balancing, incidents }: OperationContext, id: string): string {
  const causes = { connectionProblem: balancing.connectionProblem(id), lastEnd: incidents.lastEnd(id)?.reason };
  return whyNotUp(supervisor.find(id), stats.messageContext(id), causes);
}

/** "web-1" and "web-2" */
export function quoted(ids: readonly string[]): string {
  return ids.map((id) => `"${id}"`).join(" and ");
}
