/**
 * Applies a changed configuration file: all of it or nothing.
 *
 * Instances of a cluster are restarted one after another, each when the one before it is up. Each step of that rollout is a whole
 * configuration of its own, in which the pending instances still have their former specification: so what is noted of the
 * configuration is true of every process at any time. The target and the way back are noted beside it.
 */
import { basename } from "node:path";
import { ProcmanError } from "../../base/errors.ts";
import type { Config } from "../../config/spec.ts";
import type { ActOptions, PlanOptions } from "../../contract/control.ts";
import type { PlanRecord } from "../../contract/plan.ts";
import type { ActiveConfig } from "../config/active-config.ts";
import { ConfigFileWatch } from "../config/config-file-watch.ts";
import type { ConfigSource } from "../config/config-source.ts";
import type { NoteStore, RolloutState } from "../recovery/notes.ts";
import type { MessageContext } from "../reporting/lifecycle-messages.ts";
import type { ServiceLog } from "../reporting/service-log.ts";
import { whyNotUp } from "../reporting/status-text.ts";
import type { Subsystem } from "../subsystem.ts";
import type { Operation, Operations } from "./operations.ts";
import { orderByPorts, planReload, rollingIds, summary } from "./reload-plan.ts";
import { type Instances, waitForReload, waitInRotation } from "./wait.ts";

const DEFAULT_STEADY_MS = 1_000;

export type ReloadOptions = {
  /** Where the configuration is read. */
  readonly source?: ConfigSource | undefined;
  /** A changed file is applied without being asked for. */
  readonly watchFile?: boolean | undefined;
  /** In a rollout, an instance that has run for so long is up. Milliseconds, default 1000. */
  readonly steadyMs?: number | undefined;
};

export type ReloadPorts = Instances &
  ReloadOptions & {
    readonly operations: Operations;
    readonly activeConfig: ActiveConfig;
    readonly notes: NoteStore;
    readonly log: ServiceLog;
    /** Resolves once the keeper has all that was decided. */
    readonly commit: () => Promise<void>;
    readonly messageContext: (id: string) => MessageContext;
    /** Why the load balancer sends it no connections, if that is known. */
    readonly connectionProblem: (id: string) => string | undefined;
    /** The numbers of instances of the file are valid again. */
    readonly resetCounts: () => void;
  };

type Rollout = Operation & { state: RolloutState | undefined };

export class Reloads implements Subsystem {
  readonly #ports: ReloadPorts;
  readonly #abort = new AbortController();
  readonly #watch: ConfigFileWatch | undefined;
  /** Why another reload is wanted after the one that is under way. */
  #queued: string | undefined;

  constructor(ports: ReloadPorts) {
    this.#ports = ports;
    const { file } = ports.activeConfig.config;
    if (ports.watchFile) this.#watch = new ConfigFileWatch(file, () => void this.reloadWhenFree(`${basename(file)} has changed`));
  }

  /** Goes on with the rollout of an earlier service, whatever the file says by now. */
  resume(): void {
    const { activeConfig, notes, log } = this.#ports;
    if (this.#abort.signal.aborted) return;
    this.#watch?.start();
    const state = notes.read(":reload");
    if (state === undefined) return notes.remove(":reload");
    log.info(`resuming the ${state.from === undefined ? "rollback" : "reload"} at "${state.current}"`);
    void this.#begin(state, () => activeConfig.apply(activeConfig.config));
  }

  apply(): void {}

  end(): void {
    this.retire();
    this.#ports.notes.remove(":reload");
  }

  retire(): void {
    this.#watch?.stop();
    this.#abort.abort();
  }

  /** At a start: what the file says that the former service had not applied yet, unless a rollout goes on. */
  recover(to: Config): void {
    const { activeConfig, log, operations } = this.#ports;
    if (operations.isUnderWay("reload")) return;
    const plan = to === activeConfig.config ? undefined : this.#planFor(to);
    if (plan !== undefined && rollingIds(plan, to).length > 0) log.info(`${basename(to.file)} has changed meanwhile: ${summary(plan)}`);
    void this.#begin({ to, from: activeConfig.config, keepsCounts: true });
  }

  /** @throws {ProcmanError} `configuration-missing`, `configuration-invalid`, `reload-failed` */
  plan({ profile }: PlanOptions = {}): PlanRecord {
    this.#ports.operations.check({ kind: "plan", targets: [] }, "reload");
    return this.#planFor(this.#read(profile));
  }

  /**
   * Resolves when it has begun; with `waitSeconds` when it is done.
   *
   * @throws {ProcmanError} what `plan` does; `reload-running`, `roll-running`; while it waits, `reload-failed`, `wait-timeout`
   */
  async reload(why: string, { waitSeconds, signal }: ActOptions = {}): Promise<PlanRecord> {
    const { operations, supervisor, commit } = this.#ports;
    operations.check({ kind: "reload", targets: [] }, "reload");
    const found = this.#read();
    const plan = this.#planFor(found);
    operations.check({ kind: "reload", targets: clustersIn(found, plan) }, "reload");
    const work = this.#start(why, found, plan);
    await commit();
    if (waitSeconds === undefined) return plan;
    const end = { plan, work, supervisor, whyNotUp: (id: string) => this.#whyNotUp(id) };
    return waitForReload(end, waitSeconds, [this.#abort.signal, ...(signal === undefined ? [] : [signal])]);
  }

  /** By a signal, or as the file has changed: nobody waits for the answer, so what is wrong is logged. */
  async reloadWhenFree(why: string): Promise<void> {
    const { operations, commit, log } = this.#ports;
    if (operations.blockingOperation({ kind: "reload-when-free", targets: [] }) !== undefined) {
      this.#queued = why;
      return;
    }
    try {
      operations.check({ kind: "reload", targets: [] }, "reload");
      const found = this.#read();
      const plan = this.#planFor(found);
      const isBlocked = operations.blockingOperation({ kind: "reload-when-free", targets: clustersIn(found, plan) }) !== undefined;
      if (isBlocked) return await this.#reloadAfterRestarts(why);
      void this.#start(why, found, plan);
      await commit();
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      for (const line of `${error.message}\n\neverything stays as it was`.split("\n")) if (line.trim() !== "") log.error(line);
    }
  }

  async #reloadAfterRestarts(why: string): Promise<void> {
    this.#ports.log.info(`reload (${why}): waits for the end of a rolling restart`);
    await this.#ports.operations.waitForAll("rolling-restart");
    if (!this.#abort.signal.aborted) await this.reloadWhenFree(why);
  }

  #read(profile?: string): Config {
    const { source } = this.#ports;
    if (source === undefined) throw new ProcmanError("reload-failed", "Cannot reload: there is no configuration file");
    return source(undefined, profile);
  }

  #planFor(found: Config): PlanRecord {
    return planReload(this.#ports.activeConfig.config, found, this.#ports.supervisor.processes);
  }

  #start(why: string, found: Config, plan: PlanRecord): Promise<string | undefined> {
    const { activeConfig, log } = this.#ports;
    log.info(`reload (${why}): ${summary(plan)}`);
    return this.#begin({ to: withFixedSettings(found, activeConfig.config), from: activeConfig.config });
  }

  /** What needs no waiting is done at once. Resolves with why it came to nothing, if so. `before` is done once it counts as under way. */
  #begin(state: RolloutState, before: () => void = () => undefined): Promise<string | undefined> {
    const { operations } = this.#ports;
    let finish: (problem: string | undefined) => void = () => undefined;
    const rollout: Rollout = {
      kind: "reload",
      concerns: (target) => rollout.state !== undefined && this.#concerns(rollout.state, target),
      get pending() {
        return rollout.state?.pending ?? [];
      },
      done: new Promise((resolve) => {
        finish = resolve;
      }),
      cancel: () => undefined,
      state: undefined,
    };
    if (state.current !== undefined) {
      rollout.state = state;
      operations.add(rollout);
    }
    before();
    void this.#run(rollout, state).then((problem) => {
      operations.remove(rollout);
      finish(problem);
      const why = this.#queued;
      this.#queued = undefined;
      if (why !== undefined && !this.#abort.signal.aborted) void this.reloadWhenFree(why);
    });
    return rollout.done;
  }

  async #run(rollout: Rollout, begin: RolloutState): Promise<string | undefined> {
    const { steadyMs = DEFAULT_STEADY_MS, log } = this.#ports;
    const { signal } = this.#abort;
    let problem: string | undefined;
    let isRolling = begin.current !== undefined;
    for (let now: RolloutState | undefined = begin; now !== undefined; ) {
      const { from, current }: RolloutState = now;
      const isUp: boolean = current === undefined || (await waitInRotation(this.#ports, current, { steadyMs, signal }));
      if (signal.aborted) return problem;
      if (!isUp && current !== undefined && from !== undefined) {
        problem = `Cannot reload: "${current}" did not come up with the new configuration: it ${this.#whyNotUp(current)}; the previous configuration is restored`;
        log.error(problem);
      }
      now = isUp ? this.#advance(rollout, now) : this.#advance(rollout, from === undefined ? now : { to: from }, current);
      isRolling ||= now !== undefined;
    }
    if (problem !== undefined || begin.from === undefined) log.info("rolled back to the previous configuration");
    else if (isRolling) log.info("the reload is done");
    return problem;
  }

  /** The next step; undefined: it was the last. `failed`: the instance that the rollback begins with. */
  #advance(rollout: Rollout, { to, from, pending: former, keepsCounts }: RolloutState, failed?: string): RolloutState | undefined {
    const { activeConfig, supervisor, resetCounts } = this.#ports;
    const { config } = activeConfig;
    // As at a first start.
    const rest = config === to ? [] : orderByPorts(rollingIds(planReload(config, to, supervisor.processes), to, former), config, to);
    const [current, ...pending] = failed !== undefined && rest.includes(failed) ? [failed, ...rest.filter((id) => id !== failed)] : rest;
    const next = current === undefined ? undefined : { to, from, current, pending, keepsCounts };
    this.#note(rollout, next);
    if (next === undefined && from !== undefined && keepsCounts !== true) resetCounts();
    activeConfig.apply(intermediateConfig(to, activeConfig, new Set(pending)));
    // One that was started by hand, and has failed on its way, is as it was when it runs.
    const process = supervisor.processes.find(({ id }) => id === failed);
    if (process?.isIdle) process.startIfAllowed();
    return next;
  }

  /** In the same turn, before the step that leads to it. undefined: that step is the last. */
  #note(rollout: Rollout, state: RolloutState | undefined): void {
    const { notes, operations } = this.#ports;
    rollout.state = state;
    if (state === undefined) return notes.remove(":reload");
    operations.add(rollout);
    notes.write(":reload", state);
  }

  /** Whether instances of this cluster are still to be restarted: forwards, or when that fails, backwards. */
  #concerns({ to, from, current }: RolloutState, cluster: string): boolean {
    const { activeConfig, supervisor } = this.#ports;
    const { config } = activeConfig;
    const rest = [to, from].flatMap((end) => (end === undefined ? [] : rollingIds(planReload(config, end, supervisor.processes), end)));
    const ids = new Set([...rest, current]);
    return config.processes.some((spec) => spec.cluster?.id === cluster && ids.has(spec.id));
  }

  #whyNotUp(id: string): string {
    const { supervisor, messageContext, connectionProblem } = this.#ports;
    return whyNotUp(supervisor.find(id), messageContext(id), connectionProblem(id));
  }
}

/** Clusters whose instances are restarted one after another. */
function clustersIn(found: Config, plan: PlanRecord): readonly string[] {
  const ids = new Set(rollingIds(plan, found));
  return [...new Set(found.processes.flatMap(({ id, cluster }) => (ids.has(id) && cluster !== undefined ? [cluster.id] : [])))];
}

/** The configuration in which the pending instances are as they were. */
function intermediateConfig(to: Config, activeConfig: ActiveConfig, pending: ReadonlySet<string>): Config {
  if (pending.size === 0) return to;
  return { ...to, processes: to.processes.map((spec) => (pending.has(spec.id) ? activeConfig.spec(spec.id) : spec)) };
}

/** What is fixed for as long as procman runs stays as it is. */
function withFixedSettings(found: Config, { name, stateDir, api }: Config): Config {
  return { ...found, name, stateDir, api: { ...api, revoked: found.api.revoked } };
}
