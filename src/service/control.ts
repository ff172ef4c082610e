/** `Control` in process: what the API and the library's users call. */
import { ProcmanError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { didYouMean } from "../config/suggest.ts";
import type { Action, Control } from "../contract/control.ts";
import type { ProcessRecord, StateRecord, Status } from "../contract/records.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { clusterOf, recordOf, withClusters } from "./records.ts";

/** What is controlled. */
export type Controlled = {
  readonly config: Config;
  readonly supervisor: Supervisor;
  readonly isTerminating: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Pid of the keeper. */
  readonly keeper: number;
  readonly spec: (id: string) => ProcessSpec;
  /** With what the load balancer says of it. */
  readonly balancing: { readonly shown: (record: ProcessRecord) => ProcessRecord };
  readonly terminate: (why: string) => Promise<void>;
};

export class ServiceControl implements Control {
  readonly #service: Controlled;

  constructor(service: Controlled) {
    this.#service = service;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    return withClusters(this.#service.supervisor.processes.map((process) => this.#record(process))).map((record) =>
      this.#service.balancing.shown(record),
    );
  }

  async process(id: string): Promise<ProcessRecord> {
    const found = this.#find(id);
    const [only] = found;
    return found.length === 1 && only?.id === id
      ? this.#record(only)
      : this.#service.balancing.shown(
          clusterOf(
            id,
            found.map((process) => this.#record(process)),
          ),
        );
  }

  async state(): Promise<StateRecord> {
    const { config, isTerminating, startedAt, keeper } = this.#service;
    const total = this.#service.supervisor.processes.length;
    const counts: Partial<Record<Status, number>> = {};
    for (const process of this.#service.supervisor.processes) {
      const { status } = this.#record(process);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return {
      name: config.name,
      version: VERSION,
      pid: keeper,
      status: isTerminating ? "terminating" : "running",
      started: new Date(startedAt).toISOString(),
      uptimeSeconds: Math.round((Date.now() - startedAt) / 1_000),
      configFile: config.file,
      processes: { total, ...counts },
    };
  }

  async act(id: string, action: Action): Promise<ProcessRecord> {
    for (const process of this.#find(id)) process[action]();
    return this.process(id);
  }

  async terminate(): Promise<void> {
    void this.#service.terminate("asked by the API");
  }

  /** A process, an instance, a cluster, or `all`. */
  #find(id: string): readonly Process[] {
    const { processes } = this.#service.supervisor;
    const found = processes.filter((process) => id === "all" || process.id === id || this.#spec(process).cluster?.id === id);
    if (found.length > 0) return found;
    throw new ProcmanError(
      "process-unknown",
      `Cannot find process "${id}": there is none of this id.${didYouMean(
        id,
        processes.map((process) => process.id),
      )}`,
    );
  }

  #record(process: Process): ProcessRecord {
    return this.#service.balancing.shown(recordOf(process, this.#spec(process)));
  }

  #spec({ id }: Process): ProcessSpec {
    return this.#service.spec(id);
  }
}
