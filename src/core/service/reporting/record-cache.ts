/** The records of processes, with data of the load balancer; the list of all is cached for 100 ms or until a transition. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { ProcessBus } from "../process-bus.ts";
import { clusterOf, type ProcessObservation, recordOf, withClusters } from "./process-records.ts";

/** Maximum age of data that changes without a transition, as usage. Milliseconds. */
const MAX_AGE_MS = 100;

export type RecordPorts = {
  readonly bus: ProcessBus;
  readonly supervisor: () => Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  /** Must only look up, without side effects. */
  readonly observe: (id: string) => ProcessObservation;
  /** Adds the data of the load balancer. */
  readonly withBalancer: (record: ProcessRecord) => ProcessRecord;
};

export class RecordCache {
  readonly #ports: RecordPorts;
  #records: readonly ProcessRecord[] | undefined;
  #until = 0;

  constructor(ports: RecordPorts) {
    this.#ports = ports;
    ports.bus.transitions.listen(() => this.invalidate());
  }

  of({ id }: Pick<Process, "id">): ProcessRecord {
    const { supervisor, spec, observe, withBalancer } = this.#ports;
    return withBalancer(recordOf(supervisor().find(id), spec(id), observe(id)));
  }

  /** The record of a process, or of a cluster with its instances. */
  group(id: string, processes: readonly Process[]): ProcessRecord {
    const records = processes.map((process) => this.of(process));
    const [only] = records;
    return records.length === 1 && only?.id === id ? only : this.#ports.withBalancer(clusterOf(id, records));
  }

  /** Instances are shown below their clusters. */
  withClusters(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
    return withClusters(records).map((record) => this.#ports.withBalancer(record));
  }

  /** Records of all processes; the same array until it is invalidated. */
  get records(): readonly ProcessRecord[] {
    const now = performance.now();
    if (this.#records === undefined || now >= this.#until) {
      this.#records = this.withClusters(this.#ports.supervisor().processes.map((process) => this.of(process)));
      this.#until = now + MAX_AGE_MS;
    }
    return this.#records;
  }

  invalidate(): void {
    this.#records = undefined;
  }
}
