/** `?wait`: until the processes of an action are up or have ended, and its rolling restarts are over. */
import { ProcmanError } from "../../base/errors.ts";
import type { Action, ActOptions } from "../../contract/control.ts";
import type { Process } from "../../supervisor/process.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { isBeingStopped, isIdle, isStartingOrRunning } from "../../supervisor/verdict.ts";
import type { OperationContext, StartContext } from "./operation-context.ts";
import {
  AwaitedOperation,
  type ChangeSource,
  type OperationFailure,
  operationFailed,
  settle,
  type Target,
  type Verdict,
} from "./settle.ts";
import { AwaitedStart } from "./start-verdict.ts";

/** What a wait for an action uses, and what its errors are made from. */
export type ActionWaitContext = StartContext & Pick<OperationContext, "records">;

export type AwaitedAction = {
  readonly action: Action;
  readonly processes: readonly Process[];
  /** The rolling restarts that it has begun; each resolves with the reason of its failure, or undefined. */
  readonly restarts?: readonly Promise<OperationFailure | undefined>[];
  /** Whether one of these restarts the process. */
  readonly isRolled?: (process: Process) => boolean;
};

/**
 * `?wait`: call directly after the action. The returned function waits until all its rolling restarts are over and all
 * processes have reached the action's state, or can't any more. Those that a reload or a scaling removes meanwhile are
 * left out of the wait for a start, unless it removes all. It rejects with one error that names all:
 *
 * `process-failed`: these can't; `roll-failed`; `wait-timeout`
 */
export function awaitAction(
  context: ActionWaitContext,
  { action, processes, restarts = [], isRolled = () => false }: AwaitedAction,
): (options: ActOptions) => Promise<void> {
  const operations = restarts.map((done) => new AwaitedOperation(done));
  const targets = processes.map(
    (process) => new AwaitedProcess(process, action, { context, restarts: isRolled(process) ? operations : [] }),
  );
  return async ({ waitSeconds, signal }) => {
    if (waitSeconds === undefined) return;
    const verdicts = await settle([...operations, ...targets], { timeoutMs: waitSeconds * 1_000, signal });
    if (verdicts.includes("pending")) signal?.throwIfAborted();
    const failures = operations.flatMap(({ failure }) =>
      failure === undefined ? [] : [operationFailed("roll-failed", failure)],
    );
    if (operations.some((operation) => operation.look() === "pending")) failures.push(restartTimeout(waitSeconds));
    failures.push(...targets.flatMap(({ failure }) => failure ?? []));
    const pending = targets.filter((_, index) => verdicts[operations.length + index] === "pending");
    const [first, ...others] = pending.filter(({ isInRestart }) => !isInRestart);
    if (first !== undefined) failures.push(first.timeout(others.length, waitSeconds));
    const [gone] = targets;
    if (gone !== undefined && targets.every(({ isLeftOut }) => isLeftOut)) failures.push(gone.removedMeanwhile());
    if (failures.length > 0) throw together(failures);
  };
}

/** One process of an action. */
class AwaitedProcess implements Target {
  readonly sources: readonly ChangeSource[];
  readonly #process: Process;
  readonly #action: Action;
  readonly #context: ActionWaitContext;
  /** The rolling restarts that must be over first. */
  readonly #restarts: readonly AwaitedOperation[];
  /** Absent: the action starts nothing. */
  readonly #start: AwaitedStart | undefined;
  failure: ProcmanError | undefined;
  /** The process was removed from the configuration. */
  isLeftOut = false;

  constructor(
    process: Process,
    action: Action,
    { context, restarts }: { readonly context: ActionWaitContext; readonly restarts: readonly AwaitedOperation[] },
  ) {
    this.#process = process;
    this.#action = action;
    this.#context = context;
    this.#restarts = restarts;
    this.sources = [context.supervisor, context.balancing];
    // A rolling restart has made sure that it stays up.
    const minUptimeMs = restarts.length > 0 ? 0 : undefined;
    if (action === "start" || action === "restart") this.#start = new AwaitedStart(process, context, { minUptimeMs });
  }

  get isInRestart(): boolean {
    return this.#restarts.some((restart) => restart.look() === "pending");
  }

  look(again: (ms: number) => void): Verdict {
    if (this.isInRestart) return "pending";
    // The error of the rolling restart names the instance.
    if (this.#restarts.some(({ failure }) => failure !== undefined)) return "up";
    const { supervisor } = this.#context;
    if (this.#start !== undefined && supervisor.isRemoved(this.#process)) {
      this.isLeftOut = true;
      return "up";
    }
    const verdict = this.#start?.look(again) ?? endVerdict(this.#process, this.#action);
    if (verdict !== "failed" && (verdict !== "pending" || !supervisor.isSkipped(this.#process.id))) return verdict;
    this.failure = this.#actionFailed();
    return "failed";
  }

  /** Its status text. */
  get #reason(): string {
    return this.#context.records.of(this.#process).reason;
  }

  #actionFailed(): ProcmanError {
    const { incidents } = this.#context;
    const { id, states } = this.#process;
    // The policy has started it again.
    const isNextRun = this.#action !== "stop" && states.some(isStartingOrRunning);
    const why = isNextRun
      ? `${incidents.lastEnd(id)?.reason ?? "ended soon after its start"}; it was restarted`
      : this.#reason;
    return new ProcmanError("process-failed", `Cannot ${this.#action} "${id}": it ${why}`, { processes: [id] });
  }

  removedMeanwhile(): ProcmanError {
    return new ProcmanError(
      "process-failed",
      `Cannot ${this.#action} "${this.#process.id}": it was removed from the configuration meanwhile`,
    );
  }

  timeout(others: number, waitSeconds: number): ProcmanError {
    const subject = `"${this.#process.id}"${others === 0 ? "" : ` (and ${others} more)`}`;
    const problem = `timed out after ${waitSeconds} s; it ${this.#reason}`;
    return new ProcmanError(
      "wait-timeout",
      `Cannot wait for the ${this.#action} of ${subject}: ${problem}; the ${this.#action} continues in the background`,
      { processes: [this.#process.id] },
    );
  }
}

function endVerdict(process: Process, action: Action): Verdict {
  const { states } = process;
  if (action === "stop" && states.some(hasLeft)) return "failed";
  if (action !== "stop" || process.isIdle) return "up";
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

function restartTimeout(waitSeconds: number): ProcmanError {
  return new ProcmanError(
    "wait-timeout",
    `Cannot wait for the rolling restart: timed out after ${waitSeconds} s; it continues in the background`,
  );
}

/** One error that names all. */
function together(failures: readonly ProcmanError[]): ProcmanError {
  const [first] = failures;
  return new ProcmanError(first?.code ?? "process-failed", failures.map(({ message }) => message).join("\n"), {
    processes: failures.flatMap(({ processes }) => processes),
  });
}
