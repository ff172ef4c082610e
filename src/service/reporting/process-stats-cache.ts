/** What is known of each process beside its state: put together for who asks, once for all until something is new. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { TelemetryReport } from "../../contract/records.ts";
import type { Sample } from "../../metrics/sampler.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { withDependencyStatus } from "./dependency-status.ts";
import type { MessageContext } from "./lifecycle-messages.ts";
import type { ProcessBus } from "./process-bus.ts";
import { observationOf, type ProcessObservation } from "./process-records.ts";

type StatsSources = { readonly report?: TelemetryReport; readonly trouble?: string | undefined };

/** What was put together of a sample. */
type CachedStats = { readonly sample: Sample | undefined; readonly seen: ProcessObservation };

export type ProcessStatsPorts = {
  readonly bus: ProcessBus;
  readonly supervisor: () => Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  readonly sampleOf: (id: string) => Sample | undefined;
};

export class ProcessStatsCache {
  readonly #ports: ProcessStatsPorts;
  readonly #parts = new Map<string, StatsSources>();
  readonly #sightings = new Map<string, CachedStats>();

  constructor(ports: ProcessStatsPorts) {
    this.#ports = ports;
    ports.bus.removed.listen((id) => this.#forget(id));
  }

  of(id: string): ProcessObservation {
    return withDependencyStatus(this.#known(id), this.#ports.supervisor(), id);
  }

  /** What its messages are about. */
  subject(id: string): MessageContext {
    const supervisor = this.#ports.supervisor();
    const [{ policy }, { isBlocked: blocked }] = [this.#ports.spec(id), supervisor.find(id)];
    return withDependencyStatus({ policy, blocked, trouble: this.#known(id).trouble }, supervisor, id);
  }

  /** What it says of itself. */
  report(id: string, report: TelemetryReport): void {
    this.#put(id, { ...this.#parts.get(id), report });
  }

  /** What is wrong with its run; undefined: nothing any more. */
  trouble(id: string, trouble: string | undefined): void {
    const parts = this.#parts.get(id);
    if (parts?.trouble !== trouble) this.#put(id, { ...parts, trouble });
  }

  #known(id: string): ProcessObservation {
    const sample = this.#ports.sampleOf(id);
    const known = this.#sightings.get(id);
    return known !== undefined && known.sample === sample ? known.seen : this.#see(id, sample);
  }

  #forget(id: string): void {
    this.#parts.delete(id);
    this.#sightings.delete(id);
  }

  #put(id: string, parts: StatsSources): void {
    this.#parts.set(id, parts);
    this.#sightings.delete(id);
  }

  #see(id: string, sample: Sample | undefined): ProcessObservation {
    const { report, trouble } = this.#parts.get(id) ?? {};
    const seen = { ...observationOf(sample, report), trouble };
    this.#sightings.set(id, { sample, seen });
    return seen;
  }
}
