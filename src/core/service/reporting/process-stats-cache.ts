/** Caches what is known of each process beside its state, until a sample, a report or a problem changes. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { StatusCause } from "../../contract/causes.ts";
import type { TelemetryReport } from "../../contract/records.ts";
import type { Sample } from "../../metrics/sampler.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { ProcessBus } from "../process-bus.ts";
import { type DependencyStatus, withDependencyStatus } from "./dependency-status.ts";
import { observationOf, type ProcessObservation } from "./process-records.ts";
import { failureIn, type MessageContext } from "./run-ends.ts";

type StatsSources = { readonly report?: TelemetryReport; readonly trouble?: string | undefined };

/** An observation, and the sample that it was made from. */
type CachedStats = { readonly sample: Sample | undefined; readonly observation: ProcessObservation };

export type ProcessStatsPorts = {
  readonly bus: ProcessBus;
  readonly supervisor: () => Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  readonly sampleOf: (id: string) => Sample | undefined;
  /** Why the log files of the process can't be written now. */
  readonly logProblemOf: (spec: ProcessSpec) => string | undefined;
  /** The option of `procman run` because of which it isn't restarted. */
  readonly noRestartBy: (spec: ProcessSpec) => string | undefined;
};

export class ProcessStatsCache {
  readonly #ports: ProcessStatsPorts;
  readonly #sources = new Map<string, StatsSources>();
  readonly #cache = new Map<string, CachedStats>();

  constructor(ports: ProcessStatsPorts) {
    this.#ports = ports;
    ports.bus.removed.listen((id) => this.#forget(id));
  }

  of(id: string): ProcessObservation {
    return this.#withDependencies(this.#observationOf(id), id);
  }

  /** Context of the lifecycle lines of a process. */
  messageContext(id: string): MessageContext {
    const { supervisor, spec, noRestartBy } = this.#ports;
    const own = spec(id);
    const option = noRestartBy(own);
    const { isBlocked: blocked } = supervisor().find(id);
    const context = {
      policy: own.policy,
      blocked,
      trouble: this.#observationOf(id).trouble,
      ...(option && { noRestartBy: option }),
    };
    return this.#withDependencies(context, id);
  }

  /** What it waits for. */
  dependencyStatus(id: string): DependencyStatus {
    return this.#withDependencies({}, id);
  }

  #withDependencies<T extends object>(subject: T, id: string): T & DependencyStatus {
    const supervisor = this.#ports.supervisor();
    const failureOf = (other: string): Pick<StatusCause, "end" | "next"> =>
      failureIn(supervisor.find(other).states, this.messageContext(other));
    return withDependencyStatus(subject, { supervisor, failureOf }, id);
  }

  setReport(id: string, report: TelemetryReport): void {
    this.#update(id, { ...this.#sources.get(id), report });
  }

  /** The problem with its run; undefined: none any more. */
  setProblem(id: string, trouble: string | undefined): void {
    const sources = this.#sources.get(id);
    if (sources?.trouble !== trouble) this.#update(id, { ...sources, trouble });
  }

  #observationOf(id: string): ProcessObservation {
    const sample = this.#ports.sampleOf(id);
    const logProblem = this.#ports.logProblemOf(this.#ports.spec(id));
    const known = this.#cache.get(id);
    const isCurrent = known !== undefined && known.sample === sample && known.observation.logProblem === logProblem;
    return isCurrent ? known.observation : this.#refresh(id, sample, logProblem);
  }

  #forget(id: string): void {
    this.#sources.delete(id);
    this.#cache.delete(id);
  }

  #update(id: string, sources: StatsSources): void {
    this.#sources.set(id, sources);
    this.#cache.delete(id);
  }

  #refresh(id: string, sample: Sample | undefined, logProblem: string | undefined): ProcessObservation {
    const { report, trouble } = this.#sources.get(id) ?? {};
    const observation = { ...observationOf(sample, report), trouble, logProblem };
    this.#cache.set(id, { sample, observation });
    return observation;
  }
}
