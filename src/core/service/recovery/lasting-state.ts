/** What outlives a shutdown, a reboot and a kill of every part: one file in the state folder, replaced as a whole. */
import { join } from "node:path";
import { isNotFound } from "../../base/errors.ts";
import { integer, list, map, openObject, optional, string, type TypeOf } from "../../base/schema.ts";
import { matches } from "../../base/schema-check.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import { readWhole, writeWhole } from "../../os/careful-files.ts";
import type { ProcessDefinition } from "../../supervisor/definition.ts";
import type { LastingRequests } from "../../supervisor/process-ports.ts";
import type { Log, Services, Specs } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";

const schema = openObject({
  /** By process, the next start of a schedule whose missed times are made up for. */
  plans: map(openObject({ cron: string(), timeZone: optional(string()), planned: integer({ minimum: 0 }) })),
  /** Ids of the processes that start only by request. */
  disabled: optional(list(string())),
  /** By disabled cluster, whose later instances are disabled from the start: ids of the instances that were enabled one by one. */
  disabledClusters: optional(map(list(string()))),
});

type Content = TypeOf<typeof schema>;

export class LastingState implements LastingRequests, Subsystem {
  readonly #path: string;
  readonly #log: Pick<Log, "warn">;
  readonly #specs: Specs;
  #content: Content = { plans: {} };
  #written = this.#content;
  #isQueued = false;
  #hasFailed = false;

  constructor({ log, specs }: Pick<Services, "log" | "specs">) {
    this.#path = join(specs.config.stateDir, "lasting.json");
    this.#log = log;
    this.#specs = specs;
  }

  /** Reads the file, once the state folder is locked. What is about other processes than these of the configuration is forgotten. */
  load(specs: readonly Pick<ProcessSpec, "id" | "cluster">[]): void {
    try {
      const value: unknown = JSON.parse(readWhole(this.#path).toString());
      if (matches(value, schema)) this.#content = this.#written = value;
      else this.#log.warn(`Cannot use ${this.#path}: it is damaged or of another version; ignoring it`);
    } catch (error) {
      if (!isNotFound(error)) this.#log.warn(`Cannot use ${this.#path}: ${(error as Error).message}; ignoring it`);
    }
    const known = new Set(specs.map(({ id }) => id));
    const exceptions = Object.values(this.#clusters).flat();
    for (const id of [...Object.keys(this.#content.plans), ...this.#disabled, ...exceptions])
      if (!known.has(id)) this.forget(id);
    this.#forgetClusters(specs);
  }

  /** Another configuration was applied. */
  apply(): void {
    this.#forgetClusters(this.#specs.config.processes);
  }

  get #disabled(): readonly string[] {
    return this.#content.disabled ?? [];
  }

  get #clusters(): NonNullable<Content["disabledClusters"]> {
    return this.#content.disabledClusters ?? {};
  }

  /** The instances of its cluster that were enabled one by one; undefined: its cluster is not disabled. */
  #exceptions(id: string): readonly string[] | undefined {
    const cluster = this.#clusterOf(id);
    return Object.hasOwn(this.#clusters, cluster) ? this.#clusters[cluster] : undefined;
  }

  /** The cluster that an instance is in. */
  #clusterOf(id: string): string {
    return this.#specs.find(id)?.cluster?.id ?? "";
  }

  isDisabled(id: string): boolean {
    return this.#disabled.includes(id) || this.#exceptions(id)?.includes(id) === false;
  }

  setDisabled(id: string, isDisabled: boolean): void {
    const others = this.#disabled.filter((each) => each !== id);
    this.#change({ ...this.#content, disabled: isDisabled ? [...others, id] : others });
    const exceptions = this.#exceptions(id);
    const enabled = exceptions?.filter((each) => each !== id) ?? [];
    if (exceptions !== undefined) this.#setCluster(this.#clusterOf(id), isDisabled ? enabled : [...enabled, id]);
  }

  /** Disables or enables the instances that a cluster gets later, too. Those that it has are disabled or enabled one by one. */
  setClusterDisabled(cluster: string, isDisabled: boolean): void {
    this.#setCluster(cluster, isDisabled ? [] : undefined);
  }

  /** `exceptions` undefined: it is not disabled. */
  #setCluster(cluster: string, exceptions: readonly string[] | undefined): void {
    const { [cluster]: _, ...others } = this.#clusters;
    this.#change({
      ...this.#content,
      disabledClusters: exceptions === undefined ? others : { ...others, [cluster]: exceptions },
    });
  }

  #forgetClusters(specs: readonly Pick<ProcessSpec, "id" | "cluster">[]): void {
    const present = new Set(specs.map(({ cluster }) => cluster?.id));
    for (const cluster of Object.keys(this.#clusters)) if (!present.has(cluster)) this.#setCluster(cluster, undefined);
  }

  plannedStart({ id, cron, timeZone, catchUp }: ProcessDefinition): number | undefined {
    const plan = Object.hasOwn(this.#content.plans, id) ? this.#content.plans[id] : undefined;
    return catchUp && plan?.cron === cron && plan?.timeZone === timeZone ? plan?.planned : undefined;
  }

  planStart({ id, cron = "", timeZone }: ProcessDefinition, planned: number): void {
    const before = this.#content.plans[id];
    if (before?.planned === planned && before.cron === cron && before.timeZone === timeZone) return;
    const plan = { cron, planned, ...(timeZone === undefined ? {} : { timeZone }) };
    this.#change({ ...this.#content, plans: { ...this.#content.plans, [id]: plan } });
  }

  forget(id: string): void {
    if (this.#disabled.includes(id))
      this.#change({ ...this.#content, disabled: this.#disabled.filter((each) => each !== id) });
    for (const [cluster, exceptions] of Object.entries(this.#clusters))
      if (exceptions.includes(id))
        this.#setCluster(
          cluster,
          exceptions.filter((each) => each !== id),
        );
    if (!Object.hasOwn(this.#content.plans, id)) return;
    const { [id]: _, ...plans } = this.#content.plans;
    this.#change({ ...this.#content, plans });
  }

  /** What could not be written before is written now. */
  stopped(): void {
    this.#write();
  }

  /** The changes of a turn are written together. */
  #change(content: Content): void {
    if (!this.#isQueued) queueMicrotask(() => this.#write());
    this.#isQueued = true;
    this.#content = content;
  }

  #write(): void {
    this.#isQueued = false;
    if (this.#written === this.#content) return;
    try {
      writeWhole(this.#path, `${JSON.stringify(this.#content)}\n`);
      this.#written = this.#content;
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed)
        this.#log.warn(
          `Cannot write ${this.#path}: ${(error as Error).message}; it is tried again with the next change`,
        );
      this.#hasFailed = true;
    }
  }
}
