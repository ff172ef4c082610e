/** Start, stop, restart, block, unblock, enable, disable: of one process, of a cluster, or of all. */
import { ProcmanError } from "../../base/errors.ts";
import type { Action, ActOptions, Caller } from "../../contract/control.ts";
import type { Process } from "../../supervisor/process.ts";
import { isWaiting } from "../../supervisor/verdict.ts";
import { type ActionWaitContext, awaitAction } from "./action-wait.ts";
import type { OperationContext } from "./operation-context.ts";
import type { RollingRestarts } from "./rolling-restart.ts";
import { rolloutOrder } from "./rollout-order.ts";
import type { OperationFailure } from "./settle.ts";

/** `id`: a process, an instance, a cluster, or `all`. */
export type ActionRequest = {
  readonly id: string;
  readonly action: Action;
  /** All instances of a cluster together. */
  readonly isHard?: boolean;
  /** Dependencies that a start starts first: those for which this is true. */
  readonly mayStart?: ((dependency: Process) => boolean) | undefined;
  readonly caller: Caller;
};

/** `done`: resolves when the requested state is reached. */
export type AcceptedRequest = { readonly done: (options: ActOptions) => Promise<void> };

type ActionContext = ActionWaitContext & Pick<OperationContext, "lasting" | "operations">;

type StartedAction = {
  readonly processes: readonly Process[];
  readonly restarts: readonly Promise<OperationFailure | undefined>[];
};

export class Actions {
  readonly #context: ActionContext;
  readonly #rollingRestarts: Pick<RollingRestarts, "check" | "begin">;

  constructor(context: ActionContext, rollingRestarts: Pick<RollingRestarts, "check" | "begin">) {
    this.#context = context;
    this.#rollingRestarts = rollingRestarts;
  }

  /**
   * @throws {ProcmanError} `process-running`, `process-blocked`, `process-leaving`, `process-foreign`, `roll-running`;
   * `done` rejects with
   * `process-failed`, `roll-failed`, `wait-timeout`
   */
  act(asked: readonly Process[], request: ActionRequest): AcceptedRequest {
    const { id, action, isHard = false } = request;
    const begins = action === "start" || action === "restart";
    const found = id === "all" && begins ? asked.filter((process) => !this.#isIdleTask(process)) : asked;
    const isRolling = action === "restart" && !isHard && found[0]?.id !== id;
    const { processes, restarts } = isRolling ? this.#restart(found, request) : this.#atOnce(found, request);
    // Now: a reload may remove instances meanwhile.
    const instances = new Set(processes.filter((each) => this.#context.specs.of(each.id).cluster !== undefined));
    const isRolled = (process: Process): boolean => isRolling && instances.has(process);
    return { done: awaitAction(this.#context, { action, processes, restarts, isRolled }) };
  }

  #atOnce(found: readonly Process[], request: ActionRequest): StartedAction {
    const { id, action, caller } = request;
    const { supervisor, operations, specs, incidents } = this.#context;
    const ordered =
      action === "stop"
        ? supervisor.inStopOrder(found)
        : supervisor.inStartOrder([...this.#neededBy(found, request), ...found]);
    const processes = this.#apply(ordered, id, action);
    if (action === "disable" || action === "enable")
      for (const cluster of this.#wholeClusters(found, id))
        this.#context.lasting.setClusterDisabled(cluster, action === "disable");
    const endsRuns = action === "stop" || action === "restart";
    // Only for accepted requests: a refused one ends no run.
    if (endsRuns) for (const process of processes) incidents.recordRequester(process.id, caller);
    if (action === "block" || (endsRuns && found[0]?.id !== id)) {
      const targets = [...new Set(processes.map((process) => specs.of(process.id).cluster?.id ?? process.id))];
      operations.cancel(
        { kind: action === "restart" ? "restart-at-once" : action, targets },
        `${action} was requested`,
      );
    }
    return { processes, restarts: [] };
  }

  /** A task is started by its name or its group, not with everything else. */
  #isIdleTask({ id, isIdle }: Process): boolean {
    return isIdle && this.#context.specs.of(id).task === true;
  }

  /** A process that waits already says for what, or why it waits for nothing that can come. */
  #apply(processes: readonly Process[], id: string, action: Action): readonly Process[] {
    try {
      return applyAction(processes, id, action);
    } catch (error) {
      const waiting = processes.find((process) => process.id === id && process.states.some(isWaiting));
      if (!(error instanceof ProcmanError) || error.code !== "process-running" || waiting === undefined) throw error;
      throw new ProcmanError(error.code, `Cannot start "${id}": it ${this.#context.records.of(waiting).reason}`, {
        cause: error,
      });
    }
  }

  /** The clusters that `id` stands for, as far as all their instances are found. */
  #wholeClusters(found: readonly Process[], id: string): readonly string[] {
    const { supervisor, specs } = this.#context;
    const named = new Set(
      found.flatMap((process) => (process.id === id ? [] : (specs.of(process.id).cluster?.id ?? []))),
    );
    for (const process of supervisor.processes)
      if (!found.includes(process)) named.delete(specs.of(process.id).cluster?.id ?? "");
    return [...named];
  }

  /** The dependencies that a start starts, too. */
  #neededBy(found: readonly Process[], { id, action, mayStart }: ActionRequest): readonly Process[] {
    if (action !== "start" || mayStart === undefined) return [];
    const asked = new Set(found);
    const needed = this.#context.supervisor
      .toStartFor(found.filter(({ isBlocked }) => !isBlocked))
      .filter((each) => !asked.has(each));
    const cannot = `Cannot start "${id}" with its dependencies:`;
    if (!needed.every(mayStart))
      throw new ProcmanError("process-foreign", `${cannot} the token is not valid for all of them`);
    const blocked = needed.find(({ isBlocked }) => isBlocked);
    if (blocked !== undefined)
      throw new ProcmanError("process-blocked", `${cannot} "${blocked.id}" is blocked; unblock it first`);
    return needed;
  }

  /** Restarts clusters instance by instance and everything else at once. Dependents with `restart: true` follow the cluster they depend on. */
  #restart(found: readonly Process[], request: ActionRequest): StartedAction {
    const rollingRestarts = this.#rollingRestarts;
    const removed = new Set(this.#context.specs.removing.map(({ id }) => id));
    const remaining = found.filter(({ id }) => !removed.has(id));
    // If all are being removed, the call to `restart` below throws the reason.
    const processes = remaining.length === 0 ? found : remaining;
    const { clusters, others } = rolloutOrder(this.#context, processes);
    rollingRestarts.check(clusters);
    if (processes.every(({ isBlocked }) => isBlocked)) processes[0]?.restart();
    const free = others.filter(({ isBlocked }) => !isBlocked);
    if (free.length > 0) this.#atOnce(free, request);
    return {
      processes: remaining.filter(({ isBlocked }) => !isBlocked),
      restarts: rollingRestarts.begin(clusters, request.caller),
    };
  }
}

/** Acts on each process: of several, one that runs already is left alone, one that refuses is left out. Throws if all refuse. */
function applyAction(processes: readonly Process[], id: string, action: Action): readonly Process[] {
  if (processes.length === 1 && processes[0]?.id === id) {
    processes[0][action]();
    return processes;
  }
  const refusals = new Map<Process, ProcmanError>();
  for (const process of processes) {
    try {
      process[action]();
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      if (error.code !== "process-running") refusals.set(process, error);
    }
  }
  const [refusal] = refusals.values();
  if (refusal !== undefined && refusals.size === processes.length) throw refusal;
  return processes.filter((process) => !refusals.has(process));
}
