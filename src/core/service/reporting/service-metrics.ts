/** Metrics of processes, sampled from the process table, and of the service itself. */
import type { MetricPoint, MetricQuery } from "../../contract/records.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { balancerFamilies, expose, familiesOf, ServiceGauges, scaleFamilies } from "../../metrics/exposition.ts";
import { type Sample, Sampler } from "../../metrics/sampler.ts";
import { MetricSeries } from "../../metrics/series.ts";
import type { Process } from "../../supervisor/process.ts";
import { isStarting } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import { processOf } from "../spec-registry.ts";
import type { Subsystem } from "../subsystem.ts";
import { memoryLimitOf } from "./process-records.ts";
import type { RecordCache } from "./record-cache.ts";

export class ServiceMetrics implements Subsystem {
  readonly #sampler: Sampler;
  readonly #series: MetricSeries;
  readonly #gauges = new ServiceGauges();
  readonly #restarts = new Map<string, number>();

  constructor({
    bus,
    markers,
    log,
    specs,
    supervisor,
  }: Pick<Services, "bus" | "markers" | "log" | "specs" | "supervisor">) {
    const report = (problem: string): void => log.warn(problem);
    this.#series = new MetricSeries({
      stateDir: specs.config.stateDir,
      hours: () => specs.config.internalLogHours,
      report,
    });
    this.#sampler = new Sampler({
      markers,
      uidOf: (slot) => specs.configured(processOf(slot))?.user?.uid,
      roots: () => leadersOf(supervisor.processes),
      processOf,
      sampled: (samples, at) => bus.samples.publish({ samples, at }),
      isLimited: () => specs.config.processes.some((spec) => memoryLimitOf(spec) !== undefined),
      report,
    });
    bus.samples.listen(({ samples, at }) => this.#series.add(samples, at));
    bus.transitions.listen(({ id, transition: { to } }) => {
      if (isStarting(to) && to.restarts > 0) this.#restarts.set(id, (this.#restarts.get(id) ?? 0) + 1);
    });
    bus.removed.listen((id) => {
      this.#restarts.delete(id);
      this.#series.remove(id);
    });
  }

  /** Called when the running processes are known. */
  start(): void {
    this.#sampler.start();
  }

  stopped(): void {
    this.retire();
  }

  retire(): void {
    this.#sampler.stop();
    this.#gauges.close();
  }

  /** A client is looking: samples are taken more often for a while. */
  watch(): void {
    this.#sampler.watch();
  }

  sampleOf(id: string): Sample | undefined {
    return this.#sampler.of(id);
  }

  recent(id: string): readonly MetricPoint[] {
    return this.#series.recent(id);
  }

  read(ids: readonly string[], query: MetricQuery): Promise<readonly MetricPoint[]> {
    return this.#series.read([...new Set(ids)], query);
  }

  prometheus(records: RecordCache, state: StateRecord, shown: readonly Process[]): string {
    this.watch();
    const processes = shown.map((process) => ({
      record: records.of(process),
      states: process.states,
      restarts: this.#restarts.get(process.id) ?? 0,
      sample: this.#sampler.of(process.id),
    }));
    const all = records.withClusters(processes.map(({ record }) => record));
    return expose([
      ...familiesOf(processes, this.#gauges.sample(), state),
      ...balancerFamilies(all),
      ...scaleFamilies(all),
    ]);
  }
}

/** Ids of processes by the pids of their leaders. */
function leadersOf(processes: readonly Process[]): ReadonlyMap<number, string> {
  const leaders = new Map<number, string>();
  for (const { id, states } of processes)
    for (const state of states) if ("pid" in state && !("ending" in state)) leaders.set(state.pid, id);
  return leaders;
}
