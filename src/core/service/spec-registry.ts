/** The specifications of all processes: those of the configuration, and removed ones that are still being stopped. */
import { mostOf } from "../autoscale/size-schedule.ts";
import { compact } from "../base/compact.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { jitterFraction } from "../os/host-jitter.ts";
import type { ProcessDefinition } from "../supervisor/definition.ts";
import type { ConfigSnapshot } from "./recovery/config-snapshot.ts";

export class SpecRegistry {
  #config: Config;
  #present: ReadonlyMap<string, ProcessSpec>;
  #removing = new Map<string, ProcessSpec>();
  #all: readonly ProcessSpec[] | undefined;

  constructor(config: Config) {
    this.#config = config;
    this.#present = byId(config.processes);
  }

  get config(): Config {
    return this.#config;
  }

  /** Processes that are no longer in the configuration but still being stopped. */
  get removing(): readonly ProcessSpec[] {
    return [...this.#removing.values()];
  }

  /** With those that are being removed; the same array until one of them changes. */
  get all(): readonly ProcessSpec[] {
    this.#all ??= [...this.#config.processes, ...this.#removing.values()];
    return this.#all;
  }

  /** Whether a process or instance of this id is in the configuration, or still being stopped. */
  has(id: string): boolean {
    return this.find(id) !== undefined;
  }

  /** Specification of a process or of one of its slots; undefined: it is gone. */
  find(slot: string): ProcessSpec | undefined {
    const id = processOf(slot);
    return this.#present.get(id) ?? this.#removing.get(id);
  }

  /** Specification of a process or instance that is in the configuration; undefined if it isn't, though it may still be being stopped. */
  configured(id: string): ProcessSpec | undefined {
    return this.#present.get(id);
  }

  /** Specification of a process or of one of its slots. */
  of(slot: string): ProcessSpec {
    const spec = this.find(slot);
    if (spec === undefined) throw new Error(`no specification for slot ${slot}`);
    return spec;
  }

  /** The size of the cluster that an instance was removed from; empty: there is no such cluster. */
  clusterLeftBy(id: string): { readonly to?: number } {
    const cluster = this.#removing.get(id)?.cluster?.id;
    const to = cluster === undefined ? 0 : this.#config.processes.filter((spec) => spec.cluster?.id === cluster).length;
    return to === 0 ? {} : { to };
  }

  /** Ids that instances of the cluster may have had, by its `scale`. */
  scaledIds(cluster: string): readonly string[] {
    const { scale } = this.#config.processes.find((spec) => spec.cluster?.id === cluster) ?? {};
    const most = scale === undefined ? 0 : mostOf(scale);
    return Array.from({ length: most }, (_, index) => `${cluster}-${index + 1}`);
  }

  /** Number of an instance of a cluster, from 1. */
  instanceOf(slot: string): number | undefined {
    const cluster = this.find(slot)?.cluster;
    return cluster === undefined ? undefined : cluster.index + 1;
  }

  /** `config`, `removing`: those by which the running processes were started. */
  reset({ config, removing }: ConfigSnapshot): void {
    this.#config = config;
    this.#all = undefined;
    this.#present = byId(config.processes);
    this.#removing = new Map(byId(removing));
  }

  /** Processes that are not in the new configuration stay known until they are dropped. */
  replace(config: Config): void {
    const present = byId(config.processes);
    for (const [id, spec] of this.#present) if (!present.has(id)) this.#removing.set(id, spec);
    for (const id of present.keys()) this.#removing.delete(id);
    this.#config = config;
    this.#all = undefined;
    this.#present = present;
  }

  drop(id: string): void {
    this.#removing.delete(id);
    this.#all = undefined;
  }
}

/** `web:2` is a further slot of `web`, for runs that overlap. */
export function processOf(slot: string): string {
  const end = slot.indexOf(":");
  return end === -1 ? slot : slot.slice(0, end);
}

function byId(specs: readonly ProcessSpec[]): ReadonlyMap<string, ProcessSpec> {
  return new Map(specs.map((spec) => [spec.id, spec]));
}

/** The part of a specification that the supervisor needs. */
export function definitionOf(spec: ProcessSpec): ProcessDefinition {
  const { id, policy, autostart, overrun, cron, terminate, timeZone, catchUp, jitter, watch, dependsOn, cluster } =
    spec;
  return compact({
    id,
    ...(cluster === undefined ? {} : { cluster: cluster.id }),
    policy,
    overrun,
    autostart: autostart || watch.length > 0,
    dependsOn,
    cron,
    terminate,
    timeZone,
    ...(catchUp ? { catchUp } : {}),
    ...(jitter === undefined ? {} : { startDelayMs: Math.round(jitterFraction(id) * jitter) }),
  });
}
