/** The records of processes, with data of the load balancer; the list of all is cached for 100 ms or until a transition. */
import type { ProcessRecord } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Services } from "../services.ts";
import { clusterOf, recordOf, withClusters } from "./process-records.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";

/** Maximum age of data that changes without a transition, as usage. Milliseconds. */
const MAX_AGE_MS = 100;

export class RecordCache {
  readonly #services: Pick<Services, "specs" | "supervisor">;
  readonly #stats: Pick<ProcessStatsCache, "of">;
  readonly #withBalancer: (record: ProcessRecord) => ProcessRecord;
  #records: readonly ProcessRecord[] | undefined;
  #until = 0;

  /** `withBalancer`: adds the data of the load balancer. */
  constructor(
    services: Pick<Services, "bus" | "specs" | "supervisor">,
    stats: Pick<ProcessStatsCache, "of">,
    withBalancer: (record: ProcessRecord) => ProcessRecord,
  ) {
    this.#services = services;
    this.#stats = stats;
    this.#withBalancer = withBalancer;
    services.bus.transitions.listen(() => this.invalidate());
  }

  of({ id }: Pick<Process, "id">): ProcessRecord {
    const { supervisor, specs } = this.#services;
    return this.#withBalancer(recordOf(supervisor.find(id), specs.of(id), this.#stats.of(id)));
  }

  /** The record of a process, or of a cluster with its instances. */
  group(id: string, processes: readonly Process[]): ProcessRecord {
    const records = processes.map((process) => this.of(process));
    const [only] = records;
    return records.length === 1 && only?.id === id ? only : this.#withBalancer(clusterOf(id, records));
  }

  /** Instances are shown below their clusters. */
  withClusters(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
    return withClusters(records).map((record) => (record.type === "cluster" ? this.#withBalancer(record) : record));
  }

  /** Records of all processes; the same array until it is invalidated. */
  get records(): readonly ProcessRecord[] {
    const now = performance.now();
    if (this.#records === undefined || now >= this.#until) {
      this.#records = this.withClusters(this.#services.supervisor.processes.map((process) => this.of(process)));
      this.#until = now + MAX_AGE_MS;
    }
    return this.#records;
  }

  invalidate(): void {
    this.#records = undefined;
  }
}
