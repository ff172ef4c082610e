/** Changes the number of instances of a cluster at run time. Other instances, and other changes of the file, are left alone. */
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { compact } from "../../base/compact.ts";
import { ProcmanError } from "../../base/errors.ts";
import { ownPort } from "../../config/cluster-variables.ts";
import { diff } from "../../config/diff.ts";
import type { Scale } from "../../config/instance-overrides.ts";
import { ConfigurationError } from "../../config/problems.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { RequestRecord } from "../../contract/causes.ts";
import type { Caller, Scaling } from "../../contract/control.ts";
import { groupNamed } from "../../contract/groups.ts";
import { MAX_INSTANCES } from "../../contract/input-schemas.ts";
import type { Process } from "../../supervisor/process.ts";
import { isUnderWay } from "../../supervisor/verdict.ts";
import type { ConfigSource } from "../config/config-source.ts";
import type { InstanceCount, SizeDecision } from "../recovery/notes.ts";
import type { AcceptedRequest } from "./action.ts";
import { awaitAction } from "./action-wait.ts";
import type { OperationContext } from "./operation-context.ts";

/** By id of the cluster. */
type InstanceCounts = ReadonlyMap<string, InstanceCount>;

type CountsReading = { readonly description: string; readonly profile: string | undefined };

type CountedConfig = { readonly found: Config; readonly configured: number | "max" };

/** `before`: its instances now. `read`: the configuration with the new number; absent: by the file. */
type Resizing = {
  readonly id: string;
  readonly to: number;
  readonly before: readonly ProcessSpec[];
  /** Why its load or a schedule asks for it; undefined: the caller does. */
  readonly reason?: string | undefined;
  readonly read?: CountedConfig | undefined;
};

/** `added`: new instances that were started. `removed`: instances that are being removed. */
export type ScaleResult = AcceptedRequest & {
  readonly added: readonly Process[];
  readonly removed: readonly Process[];
};

/** What a reload does with the numbers of instances. */
export type KeptCounts = Pick<Scaler, "resetCounts" | "countOf" | "countByLoad">;

export class Scaler {
  readonly #context: OperationContext;
  readonly #source: ConfigSource | undefined;
  #counts: InstanceCounts = new Map();
  #request: RequestRecord | undefined;

  /** `source`: absent: there is no configuration file. */
  constructor(context: OperationContext, source: ConfigSource | undefined) {
    this.#context = context;
    this.#source = source;
  }

  /** The configuration with the instance counts that were requested from an earlier service, as far as they are still valid. */
  resume(config: Config): Config {
    const source = this.#source;
    const { notes, log } = this.#context;
    const noted = notes.read(":scale") ?? new Map<string, InstanceCount>();
    this.#counts = noted;
    if (noted.size === 0) notes.remove(":scale");
    if (noted.size === 0 || source === undefined) return config;
    const valid = new Map<string, InstanceCount>();
    let found: Config;
    try {
      found = this.#read(
        source,
        (cluster, configured) => {
          const known = noted.get(cluster);
          if (known?.configured === configured) valid.set(cluster, known);
          return valid.get(cluster)?.desired;
        },
        { description: "keep the numbers of instances", profile: config.profile },
      );
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      // The file is not valid: the configuration is that of the previous service, which has these counts already.
      if (error.code !== "scale-refused") return config;
      log.warn(`clusters are back to the number of instances in the file. ${error.message}`);
      this.#setCounts(new Map());
      return config;
    }
    for (const id of noted.keys())
      if (!valid.has(id)) log.info(`"${id}" is back to the number of instances in the file, which has changed`);
    this.#setCounts(valid);
    return [...valid.keys()].reduce((now, id) => withInstances(now, id, found), config);
  }

  /**
   * Adds or removes instances. New ones start if the file says so (`autostart`) or if others of the cluster run.
   * A cluster with `scale` keeps the number, whatever its load is, unless it is a decision about its load.
   *
   * @throws {ProcmanError} `scale-refused`, `process-blocked`, `reload-running`, `roll-running`,
   * `configuration-invalid`
   */
  scale(id: string, scaling: Scaling, caller: Caller, decision?: SizeDecision): ScaleResult {
    const { specs, supervisor } = this.#context;
    const before = instancesIn(specs.config, id);
    const [first] = before;
    if (first === undefined) throw notScalable(id, specs.config);
    if (scaling.instances === "auto") return this.#unpin(id, scaling, first);
    const processes = before.map((spec) => supervisor.find(spec.id));
    const to = targetCount(id, scaling, before.length);
    this.#check(id, to, processes);
    const isPinned = first.scale !== undefined && decision === undefined;
    if (to === before.length && !isPinned) return this.#resultOf([], []);
    return this.#carryOut(
      { id, to, before, reason: decision?.reason },
      caller,
      compact({ decision, ...(isPinned && { pinned: true as const }) }),
    );
  }

  /** The number of instances while a deployment runs two releases, and after it. Pin and decision of its load stay. @throws as `scale` */
  resize(id: string, to: number, caller: Caller): ScaleResult {
    const before = instancesIn(this.#context.specs.config, id);
    if (before.length === 0 || before.length === to) return this.#resultOf([], []);
    this.#check(
      id,
      to,
      before.map((spec) => this.#context.supervisor.find(spec.id)),
    );
    const { decision, pinned, configured = to } = this.#counts.get(id) ?? {};
    // What is removed needs no file, which may have changed meanwhile.
    const read = to < before.length ? { found: withCount(this.#context.specs.config, id, to), configured } : undefined;
    return this.#carryOut({ id, to, before, read }, caller, compact({ decision, pinned }));
  }

  /** Whether the cluster may get so many instances by the file. @throws {ProcmanError} `scale-refused`, `configuration-invalid` */
  checkSize(id: string, to: number): void {
    const before = instancesIn(this.#context.specs.config, id).length;
    targetCount(id, { instances: to }, before);
    this.#checkConflicts(id, to, instancesIn(this.#readInstances(id, to).found, id).slice(before));
  }

  #carryOut(
    { id, to, before, reason, read = this.#readInstances(id, to) }: Resizing,
    caller: Caller,
    known: Pick<InstanceCount, "decision" | "pinned">,
  ): ScaleResult {
    const { activeConfig, specs, supervisor } = this.#context;
    const processes = before.map((spec) => supervisor.find(spec.id));
    const { found, configured } = read;
    const instances = instancesIn(found, id);
    this.#checkFile(id, before, instances);
    const addedSpecs = instances.slice(before.length);
    this.#checkConflicts(id, to, addedSpecs);
    const removed = processes.slice(to);
    const isRunning = processes.some(({ states }) => states.some(isUnderWay));
    this.#setCounts(new Map(this.#counts).set(id, { desired: to, configured, ...known }));
    const request = { kind: "scaled", from: before.length, to } as const;
    this.#request = { ...request, ...(reason === undefined ? { by: caller.consumer } : { reason }) };
    try {
      activeConfig.apply(withInstances(specs.config, id, found));
    } finally {
      this.#request = undefined;
    }
    const added = addedSpecs.map((spec) => supervisor.find(spec.id));
    if (isRunning) for (const process of added) if (process.isIdle) process.startIfAllowed(false);
    return this.#resultOf(
      added.filter(({ isIdle }) => !isIdle),
      removed,
    );
  }

  /** Why instances are being removed in this turn; undefined: no cluster is being scaled. */
  get request(): RequestRecord | undefined {
    return this.#request;
  }

  /** The number that was requested for this cluster, as long as the file has the same; undefined: none. */
  readonly countOf: Scale = (cluster, configured) => {
    const known = this.#counts.get(cluster);
    return known?.configured === configured ? known.desired : undefined;
  };

  /** The number that a reload leaves alone: the load has asked for it. */
  readonly countByLoad: Scale = (cluster, configured, isScaled) =>
    isScaled && !this.isPinned(cluster) ? this.countOf(cluster, configured) : undefined;

  /** Whether the number of a cluster with `scale` was asked for by hand. */
  isPinned(cluster: string): boolean {
    return this.#counts.get(cluster)?.pinned === true;
  }

  /** The latest change by load or schedule. */
  lastDecision(cluster: string): SizeDecision | undefined {
    return this.#counts.get(cluster)?.decision;
  }

  /** The counts of the file are valid again, but for those that the load has asked for. The note is written in this turn. */
  resetCounts({ processes }: Pick<Config, "processes">): void {
    const sizes = new Map<string, number>();
    for (const { cluster, scale } of processes)
      if (cluster && scale) sizes.set(cluster.id, (sizes.get(cluster.id) ?? 0) + 1);
    const isKept = ([id, { pinned, desired }]: [string, InstanceCount]): boolean =>
      pinned !== true && sizes.get(id) === desired;
    this.#setCounts(new Map([...this.#counts].filter(isKept)));
  }

  /** The load counts again, from the number that there is now. @throws {ProcmanError} `scale-refused` */
  #unpin(id: string, { by }: Scaling, { scale }: ProcessSpec): ScaleResult {
    if (by !== undefined) throw twoSizes(id);
    if (scale === undefined)
      throw new ProcmanError("scale-refused", `Cannot scale "${id}" by its load: it has no "scale" in the file`);
    const known = this.#counts.get(id);
    if (known !== undefined) this.#setCounts(new Map(this.#counts).set(id, omitPin(known)));
    return this.#resultOf([], []);
  }

  #resultOf(added: readonly Process[], removed: readonly Process[]): ScaleResult {
    const waits = [
      awaitAction(this.#context, { action: "start", processes: added }),
      awaitAction(this.#context, { action: "stop", processes: removed }),
    ];
    return { added, removed, done: async (options) => void (await Promise.all(waits.map((wait) => wait(options)))) };
  }

  #check(id: string, to: number, processes: readonly Process[]): void {
    this.#context.operations.check({ kind: "scale", targets: [id] }, description(id, to));
    if (to > processes.length && processes.every(({ isBlocked }) => isBlocked))
      throw new ProcmanError("process-blocked", `Cannot ${description(id, to)}: it is blocked; unblock it first`);
  }

  /** The configuration by the file with this count, and the count that the file has. */
  #readInstances(id: string, to: number): CountedConfig {
    const source = this.#source;
    if (source === undefined) throw scaleRefused(id, to, "there is no configuration file");
    let configured: number | "max" | undefined;
    const found = this.#read(
      source,
      (cluster, count) => {
        if (cluster === id) configured = count;
        return cluster === id ? to : this.countOf(cluster, count);
      },
      { description: `scale "${id}" to ${to} instances`, profile: this.#context.specs.config.profile },
    );
    if (configured === undefined)
      throw scaleRefused(
        id,
        to,
        `it is no longer a cluster in ${basename(found.file)}; reload that first ("procman reload")`,
      );
    return { found, configured };
  }

  /** @throws {ProcmanError} `scale-refused`: invalid because of the count; `configuration-invalid`: the file is invalid anyway */
  #read(source: ConfigSource, scale: Scale, { description, profile }: CountsReading): Config {
    try {
      return source(scale, profile, "apply");
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      source(undefined, profile);
      const [first] = error.problems;
      const at =
        first === undefined || first.line === 0 ? "" : ` (${first.file}:${first.line}:${first.column} ${first.path})`;
      const why = first === undefined ? "" : `${first.message.charAt(0).toLowerCase()}${first.message.slice(1)}`;
      throw new ProcmanError(
        "scale-refused",
        `Cannot ${description}: with them the configuration would not be valid${at}: ${why} Ask for fewer, or change the file and reload it.`,
        { cause: error },
      );
    }
  }

  /** New instances must have the same settings as those that exist. */
  #checkFile(id: string, before: readonly ProcessSpec[], found: readonly ProcessSpec[]): void {
    const [change] = diff(before, found).changed;
    if (change === undefined) return;
    const file = basename(this.#context.specs.config.file);
    throw scaleRefused(
      id,
      found.length,
      `its ${change.fields.join(", ")} in ${file} has changed; reload that first ("procman reload")`,
    );
  }

  /** A port that is free by the file may still be used by the active configuration. */
  #checkConflicts(id: string, to: number, added: readonly ProcessSpec[]): void {
    const { all } = this.#context.specs;
    const others = all.filter(({ cluster }) => cluster?.id !== id);
    for (const spec of added) {
      const other = others.find((each) => conflictOf(spec, each) !== undefined);
      if (other === undefined) continue;
      const remedy = 'which the file has changed since; reload that first ("procman reload")';
      throw scaleRefused(id, to, `"${spec.id}" would have the ${conflictOf(spec, other)} of "${other.id}", ${remedy}`);
    }
  }

  #setCounts(counts: InstanceCounts): void {
    const { notes } = this.#context;
    const changed: InstanceCounts = new Map(
      [...counts].filter(
        ([, { desired, configured, pinned, decision }]) =>
          desired !== configured || pinned === true || decision !== undefined,
      ),
    );
    if (changed.size === 0) notes.remove(":scale");
    else notes.write(":scale", changed);
    this.#counts = changed;
  }
}

function twoSizes(id: string): ProcmanError {
  return new ProcmanError("input-invalid", `Cannot scale "${id}": either "instances" or "by" must be given`, {
    faults: [{ place: "body", message: 'must have either "instances" or "by"' }],
  });
}

function omitPin({ pinned: _, ...count }: InstanceCount): InstanceCount {
  return count;
}

/** The number of instances that is asked for, of a cluster that has `now`. @throws {ProcmanError} `input-invalid`, `scale-refused` */
export function targetCount(id: string, { instances, by }: Scaling, now: number): number {
  if ((instances === undefined) === (by === undefined)) throw twoSizes(id);
  if (instances === "auto") return now;
  const to = instances === "max" ? availableParallelism() : (instances ?? now + (by ?? 0));
  if (Number.isInteger(to) && to >= 1 && to <= MAX_INSTANCES) return to;
  throw scaleRefused(
    id,
    to,
    `use 1 to ${MAX_INSTANCES}; it has ${now}${to < 1 ? `; "procman stop ${id}" stops all of them` : ""}`,
  );
}

function notScalable(id: string, { processes }: Config): ProcmanError {
  const spec = processes.find((each) => each.id === id);
  const remedy = `give it a "cluster" in the file, and reload that ("procman reload")`;
  const why =
    spec?.cluster !== undefined
      ? `it is one instance of the cluster "${spec.cluster.id}"; scale that`
      : id === "all" || groupNamed(id) !== undefined
        ? "it is not one process; name a cluster"
        : spec === undefined
          ? "it is being removed"
          : `it is not a cluster; ${remedy}`;
  return new ProcmanError("scale-refused", `Cannot scale "${id}": ${why}`);
}

function scaleRefused(id: string, to: number, why: string): ProcmanError {
  return new ProcmanError("scale-refused", `Cannot ${description(id, to)}: ${why}`);
}

function description(id: string, to: number): string {
  return `scale "${id}" to ${to} ${to === 1 ? "instance" : "instances"}`;
}

function instancesIn(config: Config, id: string): readonly ProcessSpec[] {
  return config.processes.filter(({ cluster }) => cluster?.id === id);
}

/** Its first instances. */
function withCount(config: Config, id: string, to: number): Config {
  const removed = new Set(instancesIn(config, id).slice(to));
  return { ...config, processes: config.processes.filter((spec) => !removed.has(spec)) };
}

/** Puts the instances of `found` in place of those of the cluster, also in the dependencies of others. */
function withInstances(config: Config, id: string, found: Config): Config {
  const { chosenPorts } = found;
  const instances = instancesIn(found, id);
  const members = instances.map((spec) => spec.id);
  const first = config.processes.findIndex(({ cluster }) => cluster?.id === id);
  const others = config.processes
    .filter(({ cluster }) => cluster?.id !== id)
    .map((spec) =>
      spec.dependsOn?.some((dependency) => dependency.id === id)
        ? {
            ...spec,
            dependsOn: spec.dependsOn.map((dependency) =>
              dependency.id === id ? { ...dependency, members } : dependency,
            ),
          }
        : spec,
    );
  const processes = [...others.slice(0, first), ...instances, ...others.slice(first)];
  return { ...config, processes, ...(chosenPorts && { chosenPorts }) };
}

/** What both would need exclusively; undefined: nothing. */
function conflictOf(one: ProcessSpec, other: ProcessSpec): string | undefined {
  if (one.id === other.id) return "id";
  const port = one.cluster?.port;
  if (port !== undefined && (ownPort(other) === port || other.front?.port === port)) return `port ${port}`;
  return one.pidFile !== undefined && one.pidFile === other.pidFile ? "pid file" : undefined;
}
