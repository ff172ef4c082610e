/** Rolling restarts: the instances of a cluster one after another, each when the one before it serves again; by command or for changed files. */
import type { Caller } from "../../contract/control.ts";
import { filesText } from "../../contract/words.ts";
import { monotonicMs } from "../../os/clock.ts";
import type { Process } from "../../supervisor/process.ts";
import { isStable, isStartingOrRunning } from "../../supervisor/verdict.ts";
import { error, info, warn } from "../log-line.ts";
import type { FileChangeBatch, RollingRestartState } from "../recovery/notes.ts";
import type { Subsystem } from "../subsystem.ts";
import type { OperationContext } from "./operation-context.ts";
import type { Operation } from "./operations.ts";
import { quoted, Rollout, type RolloutPlan } from "./rollout.ts";
import { type ClusterRestarts, isProcessUnderWay, precedingRestarts } from "./rollout-order.ts";
import type { OperationFailure } from "./settle.ts";

/** Most names of changed files that are passed on. */
export const MAX_FILE_NAMES = 10;

/** `shouldRun` decides whether the queued file change leads to another rolling restart. */
type RollingStep = RollingRestartState & { readonly shouldRun?: () => boolean };

export class RollingRestarts implements Subsystem {
  readonly #context: OperationContext;
  readonly #running = new Map<string, Rollout<RollingStep>>();
  #isRetired = false;

  constructor(context: OperationContext) {
    this.#context = context;
  }

  /** Resumes the rolling restarts of an earlier service. */
  resume(): void {
    const { notes, log } = this.#context;
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
    this.#context.notes.remove(":rolls");
  }

  retire(): void {
    this.#isRetired = true;
    for (const restart of this.#running.values()) restart.retire();
    this.#running.clear();
  }

  /** @throws {ProcmanError} `roll-running`, `roll-failed` */
  check(clusters: ClusterRestarts): void {
    const { specs, sockets, operations } = this.#context;
    for (const [unit, instances] of clusters) {
      for (const { id } of instances) sockets.checkRestart(specs.of(id));
      operations.check({ kind: "restart", targets: [unit] }, `restart "${unit}"`);
    }
  }

  /**
   * Restarts running instances of each cluster one at a time and starts stopped ones at once; blocked ones are skipped.
   * The promises resolve, per unit, with the reason of its failure, or undefined.
   */
  begin(clusters: ClusterRestarts, caller: Caller): readonly Promise<OperationFailure | undefined>[] {
    return [...clusters].map(([unit, instances]) => this.#restart(unit, instances, caller));
  }

  /** Restarts instances for changed files as soon as nothing else restarts instances of this cluster. */
  onFileChange(cluster: string, change: FileChangeBatch, shouldRun: () => boolean): void {
    const isJoined =
      this.#context.operations.operationToJoin({ kind: "file-change", targets: [cluster] }) !== undefined;
    const restart =
      (isJoined ? this.#running.get(cluster) : undefined) ?? this.#start({ unit: cluster, current: [], pending: [] });
    const { current, pending, queuedChange } = restart.step;
    const isLate = change.ids.some((id) => !pending.includes(id) && this.#process(id)?.effectOf(change) !== undefined);
    if (current.length > 0 && queuedChange === undefined && isLate)
      this.#context.log.write(
        cluster,
        info(`${filesText(change)} meanwhile: instances started before that are restarted after this rolling restart`),
      );
    restart.step = { ...restart.step, queuedChange: mergeChanges(queuedChange, change), shouldRun };
    this.#note();
  }

  #restart(unit: string, instances: readonly Process[], { consumer }: Caller): Promise<OperationFailure | undefined> {
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

  #start(step: RollingStep): Rollout<RollingStep> {
    const restart = new Rollout(this.#planOf(step), step, this.#context);
    this.#running.set(step.unit, restart);
    queueMicrotask(() => void restart.run());
    this.#note();
    return restart;
  }

  #planOf({ unit }: RollingStep): RolloutPlan<RollingStep> {
    const { log, events } = this.#context;
    const cannot = `Cannot restart "${unit}" any further`;
    return {
      kind: "rolling-restart",
      cannot,
      concerns: (target) => target === unit,
      blocking: () => this.#blocking(unit),
      advance: (restart, failed) => failed === undefined && this.#advance(restart),
      onFailure: (step, failed, reason) => {
        const problem = `${cannot}: ${failureText(step, failed, reason)}`;
        log.write(unit, error(problem));
        events.publishState(failed, problem);
        return problem;
      },
      onCancel: ({ current }, why) => {
        if (current.length > 0) log.write(unit, warn(`the rolling restart ends at ${quoted(current)}: ${why}`));
        this.#forget(unit);
      },
      onEnd: (step, problem) => this.#onEnd(step, problem),
      onBug: (problem) => {
        log.write(unit, error(problem));
        this.#forget(unit);
      },
    };
  }

  #forget(unit: string): void {
    this.#running.delete(unit);
    this.#note();
  }

  /** Restarts the next instance, if there is one. Those that were stopped or removed meanwhile are not started. */
  #advance(restart: Rollout<RollingStep>): boolean {
    const { step } = restart;
    const [next, ...pending] = step.pending.filter((id) => isProcessUnderWay(this.#process(id)));
    if (next === undefined) return false;
    restart.step = { ...step, current: [next], pending };
    this.#restartInstance(next, step);
    this.#note();
    return true;
  }

  /** A queued file change leads to another rolling restart. */
  #onEnd(
    { unit, current, change, queuedChange, shouldRun = () => true }: RollingStep,
    problem: string | undefined,
  ): void {
    this.#running.delete(unit);
    if (problem === undefined && current.length > 0 && current[0] !== unit)
      this.#context.log.write(unit, info("the rolling restart is done"));
    // After a failure the first change still concerns all its instances, also those that have ended since.
    if (queuedChange !== undefined) {
      const nextChange =
        problem === undefined ? queuedChange : { ...mergeChanges(change, queuedChange), at: monotonicMs() };
      this.#restartChanged(unit, nextChange, shouldRun);
    }
    this.#note();
  }

  #restartInstance(id: string, { consumer, change }: Pick<RollingRestartState, "consumer" | "change">): void {
    if (change !== undefined) return this.#process(id)?.onFileChange(change);
    if (consumer !== undefined) this.#context.incidents.recordRequester(id, { consumer });
    this.#process(id)?.restart();
  }

  /** The operation that must be over before this unit is restarted. */
  #blocking(unit: string): Operation | undefined {
    return this.#context.operations.blockingOperation({
      kind: "queued-restart",
      targets: [unit],
      follows: precedingRestarts(this.#context, unit),
    });
  }

  #process(id: string): Process | undefined {
    return this.#context.supervisor.processes.find((process) => process.id === id);
  }

  #note(): void {
    const states = [...this.#running.values()].map(({ step }) => step);
    if (states.length === 0) this.#context.notes.remove(":rolls");
    else this.#context.notes.write(":rolls", states);
    // Processes that are no longer pending may have to follow a dependency that was restarted.
    this.#context.supervisor.reevaluate();
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

/** `id`: the instance that has not come up. */
function failureText({ pending, change }: RollingRestartState, id: string, reason: string): string {
  const rest =
    pending.length === 0 ? "" : `; ${pending.join(", ")} ${pending.length === 1 ? "keeps" : "keep"} running as before`;
  const remedy = change === undefined ? "" : `; with the next change "${id}" is tried first`;
  return `"${id}" did not come up: it ${reason}${rest}${remedy}`;
}

function unstableFirst({ states: [one] }: Process, { states: [other] }: Process): number {
  return Number(isStable(one)) - Number(isStable(other));
}
