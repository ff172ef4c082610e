/** The records of processes, with what the load balancer says of them; those of all are made once for all who ask at the same time. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { ProcessBus } from "./process-bus.ts";
import { clusterOf, type ProcessObservation, recordOf, withClusters } from "./process-records.ts";

/** What no transition tells, as the next run, is at most so old. Milliseconds. */
const MAX_AGE_MS = 100;

export type RecordPorts = {
  readonly bus: ProcessBus;
  readonly supervisor: () => Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  /** It may only look something up. */
  readonly observe: (id: string) => ProcessObservation;
  /** Adds what the load balancer says of it. */
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

  /** A process by itself, or a cluster with its instances. */
  group(id: string, processes: readonly Process[]): ProcessRecord {
    const records = processes.map((process) => this.of(process));
    const [only] = records;
    return records.length === 1 && only?.id === id ? only : this.#ports.withBalancer(clusterOf(id, records));
  }

  /** Instances are shown below their clusters. */
  withClusters(records: readonly ProcessRecord[]): readonly ProcessRecord[] {
    return withClusters(records).map((record) => this.#ports.withBalancer(record));
  }

  /** Of all processes; the same array until something has changed. */
  get records(): readonly ProcessRecord[] {
    const now = performance.now();
    if (this.#records === undefined || now >= this.#until) {
      this.#records = this.withClusters(this.#ports.supervisor().processes.map((process) => this.of(process)));
      this.#until = now + MAX_AGE_MS;
    }
    return this.#records;
  }

  /** Something has changed. */
  invalidate(): void {
    this.#records = undefined;
  }
}
