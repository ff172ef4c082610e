/** Rolling restarts: the instances of a cluster one after another, each when the one before it serves again; by command or for changed files. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { Caller } from "../../contract/control.ts";
import { filesText } from "../../contract/words.ts";
import { monotonicMs } from "../../os/clock.ts";
import type { Process } from "../../supervisor/process.ts";
import { isStable, isStartingOrRunning } from "../../supervisor/verdict.ts";
import type { FileChangeBatch, NoteStore, RollingRestartState } from "../recovery/notes.ts";
import { error, info, type LogLine, warn } from "../reporting/lifecycle-messages.ts";
import type { MessageContext } from "../reporting/run-ends.ts";
import { whyNotUp } from "../reporting/status-text.ts";
import type { Subsystem } from "../subsystem.ts";
import type { Operation, Operations } from "./operations.ts";
import { type ClusterRestarts, isProcessUnderWay, precedingRestarts } from "./rollout-order.ts";
import { AwaitedOperation, settle } from "./settle.ts";
import { type StartPorts, settleRestart } from "./start-verdict.ts";

/** An instance counts as up after it has served for this time, unless it has a `minUptimeMs`. Milliseconds. */
const DEFAULT_STEADY_MS = 1_000;
/** Most names of changed files that are passed on. */
export const MAX_FILE_NAMES = 10;

export type RollingRestartPorts = StartPorts & {
  readonly operations: Operations;
  readonly notes: NoteStore;
  readonly log: { readonly write: (id: string, line: LogLine) => void };
  /** Records that this caller requested the next end of the process's run. */
  readonly recordRequester: (id: string, caller: Caller) => void;
  readonly messageContext: (id: string) => MessageContext;
  /** Publishes an event with the process's state. */
  readonly publishState: (id: string, text: string) => void;
  /** Why the load balancer sends it no connections, if known. */
  readonly connectionProblem: (id: string) => string | undefined;
  /** Throws if a new run could not get the cluster's shared socket. */
  readonly checkSocket: (spec: ProcessSpec) => void;
  /** Default 1000. Milliseconds. */
  readonly steadyMs?: number | undefined;
};

/** `shouldRun` decides whether the queued file change leads to another rolling restart. */
type RollingRestart = Operation & {
  readonly abort: AbortController;
  state: RollingRestartState;
  shouldRun: () => boolean;
};

export class RollingRestarts implements Subsystem {
  readonly #ports: RollingRestartPorts;
  readonly #running = new Map<string, RollingRestart>();
  #isRetired = false;

  constructor(ports: RollingRestartPorts) {
    this.#ports = ports;
  }

  /** Resumes the rolling restarts of an earlier service. */
  resume(): void {
    const { notes, log } = this.#ports;
    if (this.#isRetired) return;
    const states = notes.read(":rolls") ?? [];
    if (states.length === 0) notes.remove(":rolls");
    for (const state of states) {
      if (state.current.length > 0)
        log.write(state.unit, info(`resuming the rolling restart at ${quoted(state.current)}`));
      this.#start(state);
    }
  }

  end(): void {
    this.retire();
    this.#ports.notes.remove(":rolls");
  }

  retire(): void {
    this.#isRetired = true;
    for (const restart of this.#running.values()) {
      restart.abort.abort();
      this.#ports.operations.remove(restart);
    }
    this.#running.clear();
  }

  /** @throws {ProcmanError} `roll-running`, `roll-failed` */
  check(clusters: ClusterRestarts): void {
    const { spec, checkSocket, operations } = this.#ports;
    for (const [unit, instances] of clusters) {
      for (const { id } of instances) checkSocket(spec(id));
      operations.check({ kind: "restart", targets: [unit] }, `restart "${unit}"`);
    }
  }

  /**
   * Restarts running instances of each cluster one at a time and starts stopped ones at once; blocked ones are skipped.
   * The promises resolve, per unit, with the reason of its failure, or undefined.
   */
  begin(clusters: ClusterRestarts, caller: Caller): readonly Promise<string | undefined>[] {
    return [...clusters].map(([unit, instances]) => this.#restart(unit, instances, caller));
  }

  /** Restarts instances for changed files as soon as nothing else restarts instances of this cluster. */
  onFileChange(cluster: string, change: FileChangeBatch, shouldRun: () => boolean): void {
    const isJoined = this.#ports.operations.operationToJoin({ kind: "file-change", targets: [cluster] }) !== undefined;
    const restart =
      (isJoined ? this.#running.get(cluster) : undefined) ?? this.#start({ unit: cluster, current: [], pending: [] });
    const { current, pending, queuedChange } = restart.state;
    const isLate = change.ids.some((id) => !pending.includes(id) && this.#process(id)?.effectOf(change) !== undefined);
    if (current.length > 0 && queuedChange === undefined && isLate)
      this.#ports.log.write(
        cluster,
        info(`${filesText(change)} meanwhile: instances started before that are restarted after this rolling restart`),
      );
    restart.state = { ...restart.state, queuedChange: mergeChanges(queuedChange, change) };
    restart.shouldRun = shouldRun;
    this.#note();
  }

  #restart(unit: string, instances: readonly Process[], { consumer }: Caller): Promise<string | undefined> {
    const free = instances.filter(({ isBlocked }) => !isBlocked);
    for (const process of free.filter((each) => !isProcessUnderWay(each))) process.restart();
    const all = free.filter(isProcessUnderWay).map(({ id }) => id);
    const [first, ...pending] = all;
    if (first === undefined) return Promise.resolve(undefined);
    if (this.#blocking(unit) !== undefined) return this.#start({ unit, current: [], pending: all, consumer }).done;
    this.#restartInstance(first, { consumer });
    return this.#start({ unit, current: [first], pending, consumer }).done;
  }

  /** Instances that don't run come first: the others are restarted only when these have come up. */
  #restartChanged(unit: string, change: FileChangeBatch, shouldRun: () => boolean): void {
    const affected = change.ids
      .flatMap((id) => this.#process(id) ?? [])
      .filter((process) => process.effectOf(change) !== undefined);
    const free = affected.filter(({ isBlocked }) => !isBlocked);
    for (const process of affected) if (process.isBlocked) process.onFileChange(change);
    if (free.length === 0 || !shouldRun()) return;
    const down = free.filter(({ states }) => !isStartingOrRunning(states[0]));
    const pending = free.filter(({ states }) => isStartingOrRunning(states[0])).toSorted(unstableFirst);
    const first = down.length > 0 ? down : pending.splice(0, 1);
    for (const process of first) process.onFileChange(change);
    this.#start({ unit, current: first.map(({ id }) => id), pending: pending.map(({ id }) => id), change });
  }

  #start(state: RollingRestartState): RollingRestart {
    const { unit } = state;
    const restart: RollingRestart = {
      kind: "rolling-restart",
      concerns: (target) => target === unit,
      get pending() {
        return restart.state.pending;
      },
      done: Promise.resolve()
        .then(() => this.#run(restart))
        // Nobody awaits the one for a changed file.
        .catch((bug: Error) => this.#onBug(restart, bug)),
      cancel: (why) => this.#cancel(restart, why),
      abort: new AbortController(),
      state,
      shouldRun: () => true,
    };
    this.#running.set(unit, restart);
    this.#ports.operations.add(restart);
    this.#note();
    return restart;
  }

  async #run(restart: RollingRestart): Promise<string | undefined> {
    const { signal } = restart.abort;
    for (;;) {
      const failed = await this.#awaitCurrent(restart.state, signal);
      if (signal.aborted) return typeof signal.reason === "string" ? signal.reason : undefined;
      const { state } = restart;
      // Instances that were stopped or removed meanwhile are not started.
      const [next, ...pending] = state.pending.filter((id) => isProcessUnderWay(this.#process(id)));
      if (failed !== undefined || next === undefined) return this.#finish(restart, failed);
      restart.state = { ...state, current: [next], pending };
      this.#restartInstance(next, state);
      this.#note();
    }
  }

  /** `failed`: the instance that has not come up. A queued file change leads to another rolling restart. */
  #finish(restart: RollingRestart, failed: string | undefined): string | undefined {
    const { state, shouldRun } = restart;
    const { unit, current, change, queuedChange } = state;
    this.#remove(restart);
    const problem = failed === undefined ? undefined : this.#reportFailure(state, failed);
    if (problem === undefined && current.length > 0 && current[0] !== unit)
      this.#ports.log.write(unit, info("the rolling restart is done"));
    // After a failure the first change still concerns all its instances, also those that have ended since.
    if (queuedChange !== undefined) {
      const nextChange =
        problem === undefined ? queuedChange : { ...mergeChanges(change, queuedChange), at: monotonicMs() };
      this.#restartChanged(unit, nextChange, shouldRun);
    }
    this.#note();
    return problem;
  }

  #reportFailure(state: RollingRestartState, id: string): string {
    const { supervisor, messageContext, connectionProblem, lastEnd, log, publishState } = this.#ports;
    const problem = failureMessage(
      state,
      id,
      whyNotUp(supervisor.find(id), messageContext(id), {
        connectionProblem: connectionProblem(id),
        lastEnd: lastEnd(id)?.reason,
      }),
    );
    log.write(state.unit, error(problem));
    publishState(id, problem);
    return problem;
  }

  #onBug(restart: RollingRestart, { stack }: Error): string {
    const { unit } = restart.state;
    const problem = `Cannot restart "${unit}" any further: this is a bug: ${stack}`;
    this.#ports.log.write(unit, error(problem));
    if (this.#running.get(unit) === restart) this.#remove(restart);
    this.#note();
    return problem;
  }

  #cancel(restart: RollingRestart, why: string): void {
    const { unit, current } = restart.state;
    if (current.length > 0) this.#ports.log.write(unit, warn(`the rolling restart ends at ${quoted(current)}: ${why}`));
    restart.abort.abort(`Cannot restart "${unit}" any further: ${why}`);
    this.#remove(restart);
    this.#note();
  }

  #remove(restart: RollingRestart): void {
    this.#running.delete(restart.state.unit);
    this.#ports.operations.remove(restart);
  }

  #restartInstance(id: string, { consumer, change }: Pick<RollingRestartState, "consumer" | "change">): void {
    if (change !== undefined) return this.#process(id)?.onFileChange(change);
    if (consumer !== undefined) this.#ports.recordRequester(id, { consumer });
    this.#process(id)?.restart();
  }

  /** Resolves with the first of the current instances that doesn't come up, or undefined. */
  async #awaitCurrent(state: RollingRestartState, signal: AbortSignal): Promise<string | undefined> {
    if (state.current.length === 0)
      for (let other = this.#blocking(state.unit); other !== undefined; other = this.#blocking(state.unit)) {
        await settle([new AwaitedOperation(other.done)], { signal });
        if (signal.aborted) return undefined;
      }
    const { steadyMs = DEFAULT_STEADY_MS } = this.#ports;
    for (const id of state.current) if (!(await settleRestart(this.#ports, id, { steadyMs, signal }))) return id;
    return undefined;
  }

  /** The operation that must be over before this unit is restarted. */
  #blocking(unit: string): Operation | undefined {
    return this.#ports.operations.blockingOperation({
      kind: "queued-restart",
      targets: [unit],
      follows: precedingRestarts(this.#ports, unit),
    });
  }

  #process(id: string): Process | undefined {
    return this.#ports.supervisor.processes.find((process) => process.id === id);
  }

  #note(): void {
    const states = [...this.#running.values()].map(({ state }) => state);
    if (states.length === 0) this.#ports.notes.remove(":rolls");
    else this.#ports.notes.write(":rolls", states);
    // Processes that are no longer pending may have to follow a dependency that was restarted.
    this.#ports.supervisor.reevaluate();
  }
}

/** Both changes, for one rolling restart. */
function mergeChanges(earlier: FileChangeBatch | undefined, change: FileChangeBatch): FileChangeBatch {
  if (earlier === undefined) return change;
  const twice = change.files.filter((file) => earlier.files.includes(file)).length;
  return {
    files: [...new Set([...earlier.files, ...change.files])].slice(0, MAX_FILE_NAMES),
    count: earlier.count + change.count - twice,
    at: Math.max(earlier.at, change.at),
    ids: [...new Set([...earlier.ids, ...change.ids])],
  };
}

/** "web-1" and "web-2" */
function quoted(ids: readonly string[]): string {
  return ids.map((id) => `"${id}"`).join(" and ");
}

/** `id`: the instance that has not come up. */
function failureMessage({ unit, pending, change }: RollingRestartState, id: string, reason: string): string {
  const rest =
    pending.length === 0 ? "" : `; ${pending.join(", ")} ${pending.length === 1 ? "keeps" : "keep"} running as before`;
  const remedy = change === undefined ? "" : `; with the next change "${id}" is tried first`;
  return `Cannot restart "${unit}" any further: "${id}" did not come up: it ${reason}${rest}${remedy}`;
}

function unstableFirst({ states: [one] }: Process, { states: [other] }: Process): number {
  return Number(isStable(one)) - Number(isStable(other));
}
