/**
 * Applies a changed configuration file: all of it or nothing.
 *
 * Instances of a cluster are restarted one after another, each when the one before it is up. Each step of this rollout
 * applies a complete configuration in which pending instances keep their previous specification, so the noted
 * configuration is true of every process at any time. The target and the previous configuration are noted beside it.
 */
import { ProcmanError } from "../../base/errors.ts";
import type { ConfigText } from "../../config/config-file.ts";
import { sourceName } from "../../config/find-config.ts";
import type { Config } from "../../config/spec.ts";
import type { ActOptions, Caller, PlanOptions } from "../../contract/control.ts";
import type { PlannedChange, PlanRecord } from "../../contract/plan.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import type { FrontSpec } from "../../ipc/balancer-protocol.ts";
import type { Process } from "../../supervisor/process.ts";
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import { ConfigFileWatch } from "../config/config-file-watch.ts";
import type { ConfigReading, ConfigSource } from "../config/config-source.ts";
import type { RolloutState } from "../recovery/notes.ts";
import type { MovedPort } from "../spawn/port-handovers.ts";
import type { Subsystem } from "../subsystem.ts";
import { LastReload } from "./last-reload.ts";
import { movedPorts, withMovedPorts } from "./moved-ports.ts";
import type { OperationContext } from "./operation-context.ts";
import { addedFronts, checkPorts, type HeldPorts, holderAmong, idsByPort, withHeldPorts } from "./port-check.ts";
import { clustersIn, nextStep, planReload, profileChange, rollingIds, summary } from "./reload-plan.ts";
import { DEFAULT_STEADY_MS, quoted, Rollout, type RolloutPlan, whyInstanceIsNotUp } from "./rollout.ts";
import type { KeptCounts } from "./scale.ts";
import { AwaitedOperation, type OperationFailure, operationFailed, settle, type Target } from "./settle.ts";
import { AwaitedStart } from "./start-verdict.ts";
import { intermediateConfig, withFixedSettings } from "./step-config.ts";
import { UnappliedChanges } from "./unapplied-changes.ts";

export type ReloadOptions = {
  /** Reads the configuration. */
  readonly source?: ConfigSource | undefined;
  /** The profile that procman was run with. */
  readonly profile?: string | undefined;
  /** Reload whenever the file changes. */
  readonly watchFile?: boolean | undefined;
};

/** `plan`: the one that was printed; the first step executes it. */
type ReloadStep = RolloutState & { readonly plan?: PlanRecord };

/** `portOf`: the process that needs another port; absent: the whole file is applied. */
type QueuedReload = { readonly why: string; readonly portOf?: string | undefined };

/** `caller`: who asked for it; absent: a signal, or a change of the file. `rollbackTo`: number of the entry that was put back. */
export type ReloadRequest = PlanOptions & {
  readonly caller?: Caller | undefined;
  readonly rollbackTo?: number | undefined;
};

/** `work` resolves with the reason of its failure, or undefined. */
export type BegunReload = { readonly plan: PlanRecord; readonly work: Promise<OperationFailure | undefined> };

type PlanOfPorts = { readonly plan: PlanRecord; readonly moved: readonly MovedPort[] };

const NOT_BEGUN = { current: [], pending: [] } as const;

export class Reloads implements Subsystem {
  readonly #context: OperationContext;
  readonly #scaler: KeptCounts;
  readonly #options: ReloadOptions;
  readonly #abort = new AbortController();
  readonly #watch: ConfigFileWatch | undefined;
  /** Absent: there is no file. */
  readonly #unapplied: UnappliedChanges | undefined;
  readonly #last: LastReload;
  #rollout: Rollout<ReloadStep> | undefined;
  #wasRolledBack = false;
  /** Reason of a further reload that waits for the present one. */
  #queued: QueuedReload | undefined;

  constructor(context: OperationContext, scaler: KeptCounts, options: ReloadOptions) {
    this.#context = context;
    this.#scaler = scaler;
    this.#options = options;
    this.#last = new LastReload(context.notes);
    const { file } = context.specs.config;
    const { source } = options;
    if (source !== undefined)
      this.#unapplied = new UnappliedChanges(file, () =>
        this.#planFor(source(this.#scaler.countOf, this.#context.specs.config.profile)),
      );
    const changed = `${sourceName(context.specs.config)} has changed`;
    if (options.watchFile) this.#watch = new ConfigFileWatch(file, () => void this.reloadWhenFree(changed));
  }

  /** Resumes the rollout of an earlier service; changes of the file since then don't count. */
  resume(): void {
    const { activeConfig, specs, notes, log } = this.#context;
    if (this.#abort.signal.aborted) return;
    this.#watch?.start();
    const state = notes.read(":reload");
    if (state === undefined) {
      // Its last step was carried out.
      this.#last.end("done");
      return notes.remove(":reload");
    }
    log.info(`resuming the ${state.from === undefined ? "rollback" : "reload"} at ${quoted(state.current)}`);
    void this.#begin(state, () => activeConfig.apply(specs.config));
  }

  end(): void {
    this.retire();
    this.#context.notes.remove(":reload");
  }

  retire(): void {
    this.#watch?.stop();
    this.#abort.abort();
    this.#rollout?.retire();
  }

  /** The configuration with the profile that a reload, or the `rollback` under way, has asked an earlier service for. */
  withNotedProfile(config: Config, rollback: { readonly profile?: string } | undefined): Config {
    const { source, profile: ofRun } = this.#options;
    const { notes, log } = this.#context;
    const isCutOff = rollback !== undefined && notes.read(":config") !== undefined && !notes.read(":reload");
    const noted = isCutOff ? { profile: rollback.profile, ofRun } : notes.read(":profile");
    if (source === undefined || noted === undefined || noted.ofRun !== ofRun) return config;
    // After a rollback that was cut off, `config` may be the one before: without its profile the files may be invalid.
    if (noted.profile === config.profile && !isCutOff) return config;
    try {
      return withFixedSettings(source(undefined, noted.profile, "apply"), config);
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      log.error(`${error.message}\ncontinuing with the previous configuration`);
      return notes.read(":config")?.config ?? config;
    }
  }

  /** At the start of a service: applies changes of the file that the one before had not applied, unless a rollout is resumed. */
  recover(to: Config): void {
    const { specs, log, operations, history } = this.#context;
    if (operations.isUnderWay("reload")) return;
    const plan = to === specs.config ? undefined : this.#planFor(to);
    history.recover(to, plan);
    if (plan !== undefined && rollingIds(plan, to).length > 0)
      log.info(`${sourceName(to)} has changed meanwhile: ${summary(plan)}`);
    const step = { ...NOT_BEGUN, to, from: specs.config, keepsCounts: true };
    void this.#begin(plan === undefined ? step : { ...step, plan });
  }

  /** @throws {ProcmanError} `configuration-missing`, `configuration-invalid`, `reload-failed` */
  plan(): PlanRecord {
    this.#context.operations.check({ kind: "plan", targets: [] }, "reload");
    return this.#planFor(this.#read("look"));
  }

  /** What `reload` would do or, by the same errors, refuse; with texts in place of the files. Its warnings have what a start would lack. */
  async checkedPlan(options: PlanOptions = {}, texts?: readonly ConfigText[]): Promise<PlanRecord> {
    this.#context.operations.check({ kind: "plan", targets: [] }, "reload");
    const config = this.#read(texts ?? "check", options);
    const held = await this.#heldPorts(config);
    return this.#planOfPorts(config, held).plan;
  }

  /** What the file has that is not applied; undefined: nothing, or a reload is under way. */
  get unapplied(): StateRecord["unapplied"] {
    const { specs, operations } = this.#context;
    return operations.isUnderWay("reload") ? undefined : this.#unapplied?.lookAt(specs.config);
  }

  /** Whether the reload that is under way is taken back, once it is over; without one, whether the last one was. */
  async wasTakenBack(): Promise<boolean> {
    await this.#rollout?.done;
    return this.#wasRolledBack;
  }

  get lastReload(): StateRecord["lastReload"] {
    return this.#last.record;
  }

  /**
   * Resolves when the reload has begun; with `waitSeconds` when it is done.
   *
   * @throws {ProcmanError} those of `begin`; with `waitSeconds` also `reload-failed`, `wait-timeout`
   */
  async reload(why: string, { waitSeconds, signal, ...request }: ActOptions & ReloadRequest = {}): Promise<PlanRecord> {
    const begun = await this.begin(why, request);
    return waitSeconds === undefined ? begun.plan : this.settled(begun, { waitSeconds, signal });
  }

  /** @throws {ProcmanError} those of `plan`; `reload-running`, `roll-running` */
  async begin(why: string, { caller, rollbackTo, ...options }: ReloadRequest): Promise<BegunReload> {
    const { operations, link } = this.#context;
    operations.check({ kind: "reload", targets: [] }, "reload");
    const config = this.#read("apply", options);
    const ports = this.#heldPorts(config);
    const held = ports && (await ports);
    const { plan, moved } = this.#planOfPorts(config, held);
    operations.check({ kind: "reload", targets: clustersIn(config, plan) }, "reload");
    const work = this.#start({ why, caller, rollbackTo }, config, { plan, moved });
    await link.commit();
    return { plan, work };
  }

  /** Waits until all processes that a reload starts or restarts are up, or have failed, and those that it stops have ended. @throws {ProcmanError} `reload-failed`; `wait-timeout`, also on abort */
  async settled(
    { plan, work }: BegunReload,
    { waitSeconds, signal }: { readonly waitSeconds: number; readonly signal: AbortSignal | undefined },
  ): Promise<PlanRecord> {
    const reload = new AwaitedOperation(work);
    const problems = new Map<string, string>();
    const targets = plan.processes.flatMap((change) => this.#targetOf(change, problems) ?? []);
    const verdicts = await settle([reload, ...targets], {
      timeoutMs: waitSeconds * 1_000,
      signal: AbortSignal.any([this.#abort.signal, ...(signal === undefined ? [] : [signal])]),
    });
    if (verdicts.includes("pending"))
      throw new ProcmanError(
        "wait-timeout",
        `Cannot wait for the reload: timed out after ${waitSeconds} s; it continues in the background`,
      );
    if (reload.failure !== undefined) throw operationFailed("reload-failed", reload.failure);
    const withProblem = (change: PlannedChange): PlannedChange => {
      const problem = problems.get(change.process);
      return problem === undefined ? change : { ...change, problem };
    };
    return { ...plan, processes: plan.processes.map(withProblem) };
  }

  /** What is awaited of a change, beside the rollout; undefined: nothing. `problems` gets the reason of its failure. */
  #targetOf({ process: id, action, rolling }: PlannedChange, problems: Map<string, string>): Target | undefined {
    const { supervisor, steadyMs = DEFAULT_STEADY_MS } = this.#context;
    const process = supervisor.processes.find((each) => each.id === id);
    if (process === undefined) return undefined;
    // One that is in the configuration again is not awaited any more.
    if (action === "stop")
      return {
        sources: [supervisor],
        look: () => (process.isIdle || !this.#isLeaving(process) ? "up" : "pending"),
      };
    if ((action !== "start" && action !== "restart") || rolling) return undefined;
    const start = AwaitedStart.inReload(process, this.#context, steadyMs);
    const look: Target["look"] = (again) => {
      const verdict = start.look(again);
      if (verdict === "failed") problems.set(id, whyInstanceIsNotUp(this.#context, id));
      return verdict;
    };
    return { sources: start.sources, look };
  }

  /** Whether it is being removed, or will be when what replaces it is up. */
  #isLeaving(process: Process): boolean {
    const { supervisor } = this.#context;
    return supervisor.isRemoved(process) || this.#rollout?.pending.includes(process.id) === true;
  }

  /** Another program has the port that was chosen for this process: it gets another one. With a changed file, only its user reloads. */
  async replacePort(id: string, why: string): Promise<void> {
    if (this.unapplied === undefined) return this.reloadWhenFree(why, id);
    this.#context.log.warn(`${why}; "procman reload" gives it another one, and applies what has changed in the file`);
  }

  /** Reload that no user has asked for directly: errors are logged. It waits for a reload or rolling restart under way. `portOf`: by `replacePort`; the counts of `scale` stay. */
  async reloadWhenFree(why: string, portOf?: string): Promise<void> {
    const { operations, link, log } = this.#context;
    if (this.#queueBehindReload({ why, portOf })) return;
    try {
      operations.check({ kind: "reload", targets: [] }, "reload");
      const config = this.#read("apply", {}, portOf);
      const ports = this.#heldPorts(config);
      const held = ports && (await ports);
      // Other operations may have begun meanwhile.
      if (this.#queueBehindReload({ why, portOf })) return;
      operations.check({ kind: "reload", targets: [] }, "reload");
      const { plan, moved } = this.#planOfPorts(config, held);
      const isBlocked =
        operations.blockingOperation({ kind: "reload-when-free", targets: clustersIn(config, plan) }) !== undefined;
      if (isBlocked) return await this.#reloadAfterRestarts({ why, portOf });
      void this.#start({ why }, config, { plan, moved, keepsCounts: portOf !== undefined });
      await link.commit();
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      for (const line of `${error.message}\n\neverything stays as it was`.split("\n"))
        if (line.trim() !== "") log.error(line);
    }
  }

  /** Returns whether a reload is under way; then this one follows it. */
  #queueBehindReload({ why, portOf }: QueuedReload): boolean {
    const isUnderWay =
      this.#context.operations.blockingOperation({ kind: "reload-when-free", targets: [] }) !== undefined;
    const isWhole = this.#queued !== undefined && this.#queued.portOf === undefined;
    if (isUnderWay && !(isWhole && portOf !== undefined)) this.#queued = { why, portOf };
    return isUnderWay;
  }

  #addedFronts(to: Config): readonly FrontSpec[] {
    const { specs, supervisor } = this.#context;
    return addedFronts(specs.config, to, (id) => supervisor.processes.some((each) => each.id === id && !each.isIdle));
  }

  /** The common ports that it opens and that processes have which it ends; undefined: it opens none. */
  #heldPorts(to: Config): Promise<HeldPorts> | undefined {
    const { specs, markers } = this.#context;
    const fronts = this.#addedFronts(to);
    if (fronts.length === 0) return undefined;
    const ending = this.#planFor(to).processes.filter(({ action }) => action === "stop" || action === "restart");
    const ids = new Set(ending.map(({ process }) => process));
    return checkPorts(fronts, specs.config, (port) => holderAmong(ids, port, markers));
  }

  async #reloadAfterRestarts({ why, portOf }: QueuedReload): Promise<void> {
    this.#context.log.info(`reload (${why}): waits for the end of a rolling restart`);
    await this.#context.operations.waitForAll("rolling-restart");
    if (!this.#abort.signal.aborted) await this.reloadWhenFree(why, portOf);
  }

  #read(
    reading: ConfigReading,
    { profile = this.#context.specs.config.profile }: PlanOptions = {},
    portOf?: string,
  ): Config {
    const { source } = this.#options;
    if (source === undefined) throw new ProcmanError("reload-failed", "Cannot reload: there is no configuration file");
    const running = reading === "look" ? undefined : this.#runningIds(portOf);
    const scale = this.#scaler[portOf === undefined ? "countByLoad" : "countOf"];
    return source(scale, profile ?? undefined, reading, running);
  }

  /** Ids of processes and instances, and of clusters with one of these. `failing`: its run has ended, and may be restarted by now. */
  #runningIds(failing?: string): ReadonlySet<string> {
    const { specs, supervisor } = this.#context;
    const running = supervisor.processes.filter(({ id, states }) => id !== failing && states.some(hasCurrentRun));
    return new Set(running.flatMap(({ id }) => [id, specs.of(id).cluster?.id ?? id]));
  }

  #planFor(config: Config): PlanRecord {
    return planReload(this.#context.specs.config, config, this.#context.supervisor.processes);
  }

  /** The plan that says when ports open, and which ports move. */
  #planOfPorts(config: Config, held: HeldPorts | undefined): PlanOfPorts {
    const { specs, markers } = this.#context;
    const plan = this.#planFor(config);
    const change = { before: specs.config, now: config };
    const moved = movedPorts(plan, change, (ports) => idsByPort(ports, markers));
    return { plan: withMovedPorts(withHeldPorts(plan, held), moved), moved };
  }

  #start(
    { why, caller, rollbackTo }: Omit<ReloadRequest, "profile"> & { readonly why: string },
    config: Config,
    { plan, moved, keepsCounts }: PlanOfPorts & Pick<ReloadStep, "keepsCounts">,
  ): Promise<OperationFailure | undefined> {
    const { specs, log, handovers, history } = this.#context;
    const reason = [why, ...profileChange(specs.config, config)].join("; ");
    log.info(`reload (${reason}): ${summary(plan)}`);
    this.#last.begin(reason);
    history.begin({ config, plan, why: reason, caller, rollbackTo });
    handovers.begin(moved);
    const { config: from } = specs;
    return this.#begin({ ...NOT_BEGUN, to: withFixedSettings(config, from), from, plan, keepsCounts });
  }

  /** Resolves with the reason of its failure, or undefined. `onAdded` is called when the operation counts as under way. */
  #begin(step: ReloadStep, onAdded: () => void = () => undefined): Promise<OperationFailure | undefined> {
    const rollout = new Rollout(this.#rolloutPlan(), step, this.#context);
    this.#rollout = rollout;
    onAdded();
    void rollout.run();
    return rollout.done;
  }

  #rolloutPlan(): RolloutPlan<ReloadStep> {
    const { log } = this.#context;
    return {
      kind: "reload",
      cannot: "Cannot reload",
      concerns: (target, step) => this.#concerns(step, target),
      advance: (rollout, failed) => this.#advance(rollout, failed),
      onFailure: ({ from }, failed, reason) => {
        if (from === undefined) return undefined;
        const problem = `Cannot reload: "${failed}" did not come up with the new configuration: it ${reason}; the previous configuration is restored`;
        log.error(problem);
        this.#context.history.failed(problem);
        return problem;
      },
      onEnd: (step, problem) => this.#onEnd(step, problem),
      onBug: (problem) => log.error(problem),
    };
  }

  /** Applies the next step; false: that was the last. `failed`: the instance that the way back begins with. */
  #advance(rollout: Rollout<ReloadStep>, failed: string | undefined): boolean {
    const { activeConfig, specs, notes, supervisor } = this.#context;
    const { config } = specs;
    const { step } = rollout;
    const isWayBack = failed !== undefined && step.from !== undefined;
    const { to, from, keepsCounts }: Omit<ReloadStep, keyof typeof NOT_BEGUN> = isWayBack ? { to: step.from } : step;
    const previous = isWayBack ? [] : step.pending;
    // Nothing to restart, as at a first start.
    const plan = config === to ? undefined : (step.plan ?? planReload(config, to, supervisor.processes, previous));
    const isFirst = from !== undefined && step.current.length === 0 && previous.length === 0;
    const { current, pending } =
      plan === undefined ? NOT_BEGUN : nextStep(plan, { before: config, now: to, pending: previous, failed, isFirst });
    // Before the step is applied, in the same turn: note and commands travel together.
    if (current.length === 0) {
      rollout.step = { ...step, to, from, pending };
      notes.remove(":reload");
      if (from !== undefined && keepsCounts !== true) this.#scaler.resetCounts(to);
    } else {
      rollout.step = { to, from, current, pending, keepsCounts };
      notes.write(":reload", rollout.step);
    }
    activeConfig.apply(intermediateConfig(to, specs, new Set(pending)));
    // A failed instance that was started by hand (no `autostart`) ran before: start it again.
    const process = supervisor.processes.find(({ id }) => id === failed);
    if (process?.isIdle && !supervisor.isRemoved(process)) process.startIfAllowed(false);
    return current.length > 0;
  }

  #onEnd({ from, current }: ReloadStep, problem: string | undefined): void {
    const { log, history } = this.#context;
    this.#rollout = undefined;
    const isRolledBack = problem !== undefined || from === undefined;
    this.#wasRolledBack = isRolledBack;
    this.#last.end(isRolledBack ? "rolled-back" : "done", problem);
    history.finish(isRolledBack ? "rolled-back" : "applied", problem);
    if (isRolledBack) log.info("rolled back to the previous configuration");
    else if (current.length > 0) log.info("the reload is done");
    // After what waits for the end: a rollback that was taken back puts its files back first.
    if (this.#queued !== undefined) setImmediate(() => this.#reloadQueued());
  }

  #reloadQueued(): void {
    const { why, portOf } = this.#queued ?? {};
    this.#queued = undefined;
    if (why === undefined || this.#abort.signal.aborted) return;
    void (portOf === undefined ? this.reloadWhenFree(why) : this.replacePort(portOf, why));
  }

  /** Whether the rollout, or its rollback, has yet to restart instances of this cluster. */
  #concerns({ to, from, current, pending }: RolloutState, cluster: string): boolean {
    const { specs, supervisor } = this.#context;
    const { config } = specs;
    const rest = [to, from].flatMap((end) =>
      end === undefined ? [] : rollingIds(planReload(config, end, supervisor.processes), end),
    );
    const ids = new Set([...rest, ...pending, ...current]);
    return config.processes.some((spec) => spec.cluster?.id === cluster && ids.has(spec.id));
  }
}
