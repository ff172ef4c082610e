/**
 * A deployment with `warm`: clusters behind the load balancer get as many instances of the new release again, and those of
 * before stand by without clients until it has proven itself. Then their numbers run the new release, and the additional
 * instances are removed; or they get the clients back at once, and the additional ones are removed.
 */
import { takeable } from "../../autoscale/scale-controller.ts";
import { ProcmanError } from "../../base/errors.ts";
import { size as sizeText } from "../../base/quantity.ts";
import type { Config, ProcessSpec, ReleasesSpec } from "../../config/spec.ts";
import type { ActOptions, Caller } from "../../contract/control.ts";
import { failpoint } from "../../os/failpoint.ts";
import type { Process } from "../../supervisor/process.ts";
import { isRunning } from "../../supervisor/verdict.ts";
import type { Balancing } from "../balancer/balancing.ts";
import { awaitAction } from "./action-wait.ts";
import type { OperationContext } from "./operation-context.ts";
import type { Operation } from "./operations.ts";
import type { Scaler } from "./scale.ts";

export type WarmContext = Pick<
  OperationContext,
  "incidents" | "link" | "operations" | "records" | "specs" | "supervisor"
> & {
  readonly balancing: OperationContext["balancing"] & Pick<Balancing, "standby">;
  readonly scaler: Pick<Scaler, "resize" | "checkSize">;
  /** Bytes that programs may still take. */
  readonly freeMemory?: () => number;
};

/** By id of the cluster: its instances. */
export type WarmClusters = ReadonlyMap<string, readonly Process[]>;

export class WarmInstances {
  readonly #context: WarmContext;
  #operation: (Operation & { readonly finish: () => void }) | undefined;

  constructor(context: WarmContext) {
    this.#context = context;
  }

  /** Clusters have instances of two releases. */
  get isUnderWay(): boolean {
    return Object.keys(this.#sizes).length > 0;
  }

  get #sizes(): Readonly<Record<string, number>> {
    return this.#context.balancing.standby.sizes;
  }

  /** The operation of an earlier service goes on. */
  resume(): void {
    if (this.isUnderWay) this.#begin();
  }

  retire(): void {
    this.#end();
  }

  /** What of `stale` can stay beside new instances: clusters behind the balancer of which all instances run. */
  clusters({ warm }: Pick<ReleasesSpec, "warm">, stale: readonly Process[]): WarmClusters {
    const { specs, supervisor } = this.#context;
    const found = new Map<string, readonly Process[]>();
    for (const [id, members] of warm === true ? clustersIn(specs.config) : []) {
      const size = this.#sizes[id];
      const old = members.slice(0, size).map((spec) => supervisor.find(spec.id));
      const kept = old.filter((process) => stale.includes(process));
      const isWhole = kept.length === members.length && kept.every(({ states }) => states.some(isRunning));
      if (size !== undefined || isWhole) found.set(id, kept);
    }
    return found;
  }

  /** @throws {ProcmanError} `deploy-refused`, `scale-refused`: there is no room for so many */
  check(clusters: WarmClusters): void {
    const { records, scaler, freeMemory = () => process.availableMemory() } = this.#context;
    for (const [id, members] of clusters) scaler.checkSize(id, members.length * 2);
    const all = [...clusters.values()].flat();
    const needed = all.reduce((sum, member) => sum + (records.of(member).memoryBytes ?? 0), 0);
    const free = takeable(freeMemory());
    if (needed <= free) return;
    throw new ProcmanError(
      "deploy-refused",
      `Cannot deploy: with "warm", ${all.length} more instances run until the gate is over; these use ${sizeText(needed)} of memory, and ${sizeText(free)} may be taken; free some, or take "warm" out of "releases"`,
    );
  }

  /**
   * Adds the instances of the new release, and waits until they are up.
   * @throws {ProcmanError} `scale-refused`, `roll-running`, `reload-running`, `process-failed`, `wait-timeout`
   */
  async add(
    clusters: readonly (readonly [id: string, size: number])[],
    caller: Caller,
    options: ActOptions,
  ): Promise<void> {
    const { balancing, link, scaler } = this.#context;
    const known = this.#sizes;
    balancing.standby.begin(Object.fromEntries(clusters.map(([id, size]) => [id, known[id] ?? size])));
    await link.commit();
    failpoint("service.warm-noted");
    this.#end();
    try {
      for (const [id, size] of Object.entries(this.#sizes)) scaler.resize(id, size * 2, caller);
    } finally {
      this.#begin();
    }
    await link.commit();
    failpoint("service.warm-added");
    const added = this.#membersWhere((index, size) => index >= size).map((id) => this.#context.supervisor.find(id));
    await awaitAction(this.#context, { action: "start", processes: added })(options);
  }

  /** These get no clients from now on. */
  async rest(kept: readonly Process[]): Promise<void> {
    this.#context.balancing.standby.rest(kept.map(({ id }) => id));
    await this.#context.link.commit();
    failpoint("service.warm-rests");
  }

  /** The instances of before get the clients again, and the additional ones none. */
  giveBack(): void {
    if (this.isUnderWay) this.#context.balancing.standby.rest(this.#membersWhere((index, size) => index >= size));
  }

  /** Ends the additional instances. @throws as `add` */
  async remove(caller: Caller, options: ActOptions): Promise<void> {
    const { link, scaler, balancing } = this.#context;
    if (!this.isUnderWay) return;
    this.#end();
    const removed = Object.entries(this.#sizes).map(([id, size]) => scaler.resize(id, size, caller));
    balancing.standby.end();
    await link.commit();
    failpoint("service.warm-removed");
    await Promise.all(removed.map(({ done }) => done(options)));
  }

  #membersWhere(test: (index: number, size: number) => boolean): readonly string[] {
    return this.#context.specs.config.processes.flatMap(({ id, cluster }) => {
      const size = cluster === undefined ? undefined : this.#sizes[cluster.id];
      return cluster !== undefined && size !== undefined && test(cluster.index, size) ? [id] : [];
    });
  }

  /** Other changes of their numbers are refused. */
  #begin(): void {
    this.#end();
    let finish = (): void => undefined;
    const done = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    this.#operation = {
      kind: "two-releases",
      concerns: (id) => this.#sizes[id] !== undefined,
      pending: [],
      done,
      cancel: () => undefined,
      finish,
    };
    this.#context.operations.add(this.#operation);
  }

  #end(): void {
    if (this.#operation === undefined) return;
    this.#context.operations.remove(this.#operation);
    this.#operation.finish();
    this.#operation = undefined;
  }
}

function clustersIn({ processes }: Config): ReadonlyMap<string, readonly ProcessSpec[]> {
  const clusters = new Map<string, ProcessSpec[]>();
  for (const spec of processes)
    if (spec.cluster !== undefined && spec.front !== undefined)
      clusters.set(spec.cluster.id, [...(clusters.get(spec.cluster.id) ?? []), spec]);
  return clusters;
}
