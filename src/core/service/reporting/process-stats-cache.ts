/** Caches what is known of each process beside its state, until a sample, a report or a problem changes. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { StatusCause } from "../../contract/causes.ts";
import type { TelemetryReport } from "../../contract/records.ts";
import type { Sample } from "../../metrics/sampler.ts";
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import { type DependencyStatus, withDependencyStatus } from "./dependency-status.ts";
import { observationOf, type ProcessObservation } from "./process-records.ts";
import { failureIn, type MessageContext } from "./run-ends.ts";

type StatsSources = { readonly report?: TelemetryReport; readonly trouble?: string | undefined };

/** An observation, and the sample that it was made from. */
type CachedStats = { readonly sample: Sample | undefined; readonly observation: ProcessObservation };

export class ProcessStatsCache {
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;
  readonly #metrics: { readonly sampleOf: (id: string) => Sample | undefined };
  readonly #noRestartBy: (spec: ProcessSpec) => string | undefined;
  readonly #sources = new Map<string, StatsSources>();
  readonly #cache = new Map<string, CachedStats>();

  /** `noRestartBy`: the option of `procman run` because of which a process isn't restarted. */
  constructor(
    services: Pick<Services, "bus" | "log" | "specs" | "supervisor">,
    metrics: { readonly sampleOf: (id: string) => Sample | undefined },
    noRestartBy: (spec: ProcessSpec) => string | undefined,
  ) {
    this.#services = services;
    this.#metrics = metrics;
    this.#noRestartBy = noRestartBy;
    services.bus.removed.listen((id) => this.#forget(id));
    services.bus.transitions.listen(({ id, transition: { from, to } }) => {
      if (hasCurrentRun(to) && to.run !== from.run) this.#dropReport(id);
    });
  }

  of(id: string): ProcessObservation {
    return this.#withDependencies(this.#observationOf(id), id);
  }

  /** Context of the lifecycle lines of a process. */
  messageContext(id: string): MessageContext {
    const { supervisor, specs } = this.#services;
    const own = specs.of(id);
    const option = this.#noRestartBy(own);
    const { isBlocked: blocked } = supervisor.find(id);
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
    const supervisor = this.#services.supervisor;
    const failureOf = (other: string): Pick<StatusCause, "end" | "next"> =>
      failureIn(supervisor.find(other).states, this.messageContext(other));
    return withDependencyStatus(subject, { supervisor, failureOf }, id);
  }

  setReport(id: string, report: TelemetryReport): void {
    this.#update(id, { ...this.#sources.get(id), report });
  }

  /** The report of an earlier run says nothing of this one. */
  #dropReport(id: string): void {
    const sources = this.#sources.get(id);
    if (sources?.report !== undefined) this.#update(id, { trouble: sources.trouble });
  }

  /** The problem with its run; undefined: none any more. */
  setProblem(id: string, trouble: string | undefined): void {
    const sources = this.#sources.get(id);
    if (sources?.trouble !== trouble) this.#update(id, { ...sources, trouble });
  }

  #observationOf(id: string): ProcessObservation {
    const { log, specs } = this.#services;
    const sample = this.#metrics.sampleOf(id);
    const logProblem = log.problemOf(specs.of(id));
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
