/** The operations under way (rolling restarts, reloads, the shutdown) and the table of requests that conflict with them. */
import { type ErrorCode, ProcmanError } from "../../base/errors.ts";
import type { OperationFailure } from "./settle.ts";

/** `two-releases`: a deployment with `warm` runs instances of both. */
type OperationKind = "rolling-restart" | "reload" | "shutdown" | "two-releases";

export type Operation = {
  readonly kind: OperationKind;
  /** Whether it restarts this process, or instances of this cluster. */
  readonly concerns: (target: string) => boolean;
  /** Ids of processes that it has yet to restart. */
  readonly pending: readonly string[];
  /** Resolves with the reason of its failure, or undefined. */
  readonly done: Promise<OperationFailure | undefined>;
  /** Ends it early: another request replaces it. */
  readonly cancel: (why: string) => void;
};

/**
 * `restart-at-once`: all instances of a cluster together. `queued-restart`: an accepted restart that waits.
 * `reload-when-free`: a reload requested by a signal or by a change of the file.
 */
type RequestKind =
  | ("restart" | "restart-at-once" | "queued-restart" | "file-change" | "stop" | "block")
  | ("plan" | "reload" | "reload-when-free" | "scale");

export type OperationRequest = {
  readonly kind: RequestKind;
  /** Ids of clusters or processes. */
  readonly targets: readonly string[];
  /** Ids of clusters or processes whose restart comes before this request. */
  readonly follows?: readonly string[];
};

type Refusal = { readonly code: ErrorCode; readonly why: (target: string) => string };

type Conflict = {
  readonly request: RequestKind;
  readonly running: OperationKind;
  /** Conflict with an operation on `same`: the request's targets; `followed`: its `follows`; `any`: anything. */
  readonly scope: "same" | "followed" | "any";
  /** `wait`: starts when the operation is over; `queue`: is requested again then; `join`: becomes part of it; `cancel`: ends it. */
  readonly effect: Refusal | "wait" | "queue" | "join" | "cancel";
};

const AT_ONCE = "wait for its end, or restart all instances at once with --hard";
const TWO_RELEASES = 'a deployment runs instances of two releases; "procman deploy --wait" waits for its end';
const STOPPING = "everything is being stopped; run procman again afterwards";

/** Pairs that are not listed may run at the same time. The first matching row counts. */
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
  row(
    "reload",
    "two-releases",
    "any",
    refuse("reload-running", () => TWO_RELEASES),
  ),
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
    "two-releases",
    "same",
    refuse("scale-refused", () => TWO_RELEASES),
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

  /** Whether an operation has yet to restart this process. */
  isPending(id: string): boolean {
    return [...this.#running].some(({ pending }) => pending.includes(id));
  }

  /** `what`: the request in words, for "Cannot ...". @throws {ProcmanError} if the table refuses it */
  check(request: OperationRequest, what: string): void {
    for (const { effect, target } of this.#matches(request))
      if (typeof effect === "object") throw new ProcmanError(effect.code, `Cannot ${what}: ${effect.why(target)}`);
  }

  /** Whether the table refuses it now. */
  refuses(request: OperationRequest): boolean {
    return this.#matches(request).some(({ effect }) => typeof effect === "object");
  }

  /** The operation that must be over before the request starts. */
  blockingOperation(request: OperationRequest): Operation | undefined {
    return this.#matches(request).find(({ effect }) => effect === "wait" || effect === "queue")?.operation;
  }

  /** The operation that takes the request over. */
  operationToJoin(request: OperationRequest): Operation | undefined {
    return this.#matches(request).find(({ effect }) => effect === "join")?.operation;
  }

  /** Ends the operations that the request replaces. */
  cancel(request: OperationRequest, why: string): void {
    for (const { effect, operation } of this.#matches(request)) if (effect === "cancel") operation.cancel(why);
  }

  /** Resolves when all operations of this kind that are under way now are over. */
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

function row(
  request: RequestKind,
  running: OperationKind,
  scope: Conflict["scope"],
  effect: Conflict["effect"],
): Conflict {
  return { request, running, scope, effect };
}

function refuse(code: ErrorCode, why: Refusal["why"]): Refusal {
  return { code, why };
}

function rollingRestartOf(target: string): string {
  return `a rolling restart of "${target}" is under way; wait for its end`;
}
