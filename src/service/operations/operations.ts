/** What is under way: rolling restarts, reloads, the shutdown; and the one table of what may run beside them. */
import { type ErrorCode, ProcmanError } from "../../base/errors.ts";

type OperationKind = "rolling-restart" | "reload" | "shutdown";

export type Operation = {
  readonly kind: OperationKind;
  /** Whether it restarts instances of this cluster, or this process. */
  readonly concerns: (target: string) => boolean;
  /** Processes that it restarts in their turn. */
  readonly pending: readonly string[];
  /** Resolves with why it came to nothing, if so. */
  readonly done: Promise<string | undefined>;
  /** Something else was asked for. */
  readonly cancel: (why: string) => void;
};

/**
 * `restart-at-once`: all instances of a cluster together. `queued-restart`: one that is accepted. `reload-when-free`: by a signal,
 * or as the file has changed.
 */
type RequestKind =
  | ("restart" | "restart-at-once" | "queued-restart" | "file-change" | "stop" | "block")
  | ("plan" | "reload" | "reload-when-free" | "scale");

export type OperationRequest = {
  readonly kind: RequestKind;
  /** Clusters, or processes. */
  readonly targets: readonly string[];
  /** Clusters, or processes, whose restart this one would follow. */
  readonly follows?: readonly string[];
};

type Refusal = { readonly code: ErrorCode; readonly why: (target: string) => string };

type Conflict = {
  readonly request: RequestKind;
  readonly running: OperationKind;
  /** `same`: of the same cluster or process; `followed`: of one that is restarted before it; `any`: whatever it works on. */
  readonly scope: "same" | "followed" | "any";
  /** `join`: becomes part of what is under way; `queue`: is asked for once more when that is over. */
  readonly effect: Refusal | "wait" | "queue" | "join" | "cancel";
};

const AT_ONCE = "wait for its end, or restart all instances at once with --hard";
const STOPPING = "everything is being stopped; run procman again then";

/** What is not named here may run beside one another. Of the rows that match, the first one counts. */
const CONFLICTS: readonly Conflict[] = [
  row(
    "restart",
    "rolling-restart",
    "same",
    refuse("roll-running", () => `a rolling restart of it is under way; ${AT_ONCE}`),
  ),
  row(
    "restart",
    "reload",
    "same",
    refuse("roll-running", () => `a reload of it is under way; ${AT_ONCE}`),
  ),
  row("file-change", "rolling-restart", "same", "join"),
  row("queued-restart", "reload", "same", "wait"),
  row("queued-restart", "rolling-restart", "followed", "wait"),
  row("restart-at-once", "rolling-restart", "same", "cancel"),
  row("stop", "rolling-restart", "same", "cancel"),
  row("block", "rolling-restart", "same", "cancel"),
  row(
    "plan",
    "shutdown",
    "any",
    refuse("reload-failed", () => STOPPING),
  ),
  row(
    "reload",
    "reload",
    "any",
    refuse("reload-running", () => "a reload is under way; wait for its end"),
  ),
  row(
    "reload",
    "shutdown",
    "any",
    refuse("reload-failed", () => STOPPING),
  ),
  row("reload", "rolling-restart", "same", refuse("roll-running", rollingRestartOf)),
  row("reload-when-free", "reload", "any", "queue"),
  row("reload-when-free", "rolling-restart", "same", "wait"),
  row(
    "scale",
    "shutdown",
    "any",
    refuse("scale-refused", () => STOPPING),
  ),
  row(
    "scale",
    "reload",
    "any",
    refuse("reload-running", () => "a reload is under way; wait for its end"),
  ),
  row(
    "scale",
    "rolling-restart",
    "same",
    refuse("roll-running", () => "a rolling restart of it is under way; wait for its end"),
  ),
];

type Match = { readonly effect: Conflict["effect"]; readonly operation: Operation; readonly target: string };

export class Operations {
  readonly #running = new Set<Operation>();

  add(operation: Operation): void {
    this.#running.add(operation);
  }

  remove(operation: Operation): void {
    this.#running.delete(operation);
  }

  isUnderWay(kind: OperationKind): boolean {
    return [...this.#running].some((operation) => operation.kind === kind);
  }

  /** It is restarted when its turn comes. */
  isPending(id: string): boolean {
    return [...this.#running].some(({ pending }) => pending.includes(id));
  }

  /** `what`: that can't be done. @throws {ProcmanError} */
  check(request: OperationRequest, what: string): void {
    for (const { effect, target } of this.#matches(request))
      if (typeof effect === "object") throw new ProcmanError(effect.code, `Cannot ${what}: ${effect.why(target)}`);
  }

  /** What has to be over first, or is followed by the request. */
  blockingOperation(request: OperationRequest): Operation | undefined {
    return this.#matches(request).find(({ effect }) => effect === "wait" || effect === "queue")?.operation;
  }

  /** What the request becomes part of. */
  operationToJoin(request: OperationRequest): Operation | undefined {
    return this.#matches(request).find(({ effect }) => effect === "join")?.operation;
  }

  /** Ends what the request takes the place of. */
  cancel(request: OperationRequest, why: string): void {
    for (const { effect, operation } of this.#matches(request)) if (effect === "cancel") operation.cancel(why);
  }

  /** Resolves when those of this kind that are under way now are over. */
  async waitForAll(kind: OperationKind): Promise<void> {
    await Promise.all([...this.#running].filter((operation) => operation.kind === kind).map(({ done }) => done));
  }

  #matches({ kind, targets, follows = [] }: OperationRequest): readonly Match[] {
    return CONFLICTS.filter(({ request }) => request === kind).flatMap(({ running, scope, effect }) =>
      [...this.#running]
        .filter((operation) => operation.kind === running)
        .flatMap((operation) => {
          if (scope === "any") return [{ effect, operation, target: "" }];
          const target = (scope === "same" ? targets : follows).find((each) => operation.concerns(each));
          return target === undefined ? [] : [{ effect, operation, target }];
        }),
    );
  }
}

function row(request: RequestKind, running: OperationKind, scope: Conflict["scope"], effect: Conflict["effect"]): Conflict {
  return { request, running, scope, effect };
}

function refuse(code: ErrorCode, why: Refusal["why"]): Refusal {
  return { code, why };
}

function rollingRestartOf(target: string): string {
  return `a rolling restart of "${target}" is under way; wait for its end`;
}
