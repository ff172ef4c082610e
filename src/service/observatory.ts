/** What is seen of processes: their numbers, what happens to them, how their runs end. It watches, and decides nothing. */
import { ProcmanError } from "../base/errors.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { Caller } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PluginRecord } from "../contract/plugin-record.ts";
import type { Incident, MetricPoint, MetricQuery, ProcessRecord, TelemetryReport } from "../contract/records.ts";
import type { Notice } from "../supervisor/notice.ts";
import type { Transition } from "../supervisor/slot.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { Metrics } from "../telemetry/metrics.ts";
import { expose } from "../telemetry/prometheus.ts";
import { type Sample, Sampler } from "../telemetry/sampler.ts";
import { balancerFamilies } from "./balancer-families.ts";
import type { Observatory } from "./controlled.ts";
import { Events } from "./events.ts";
import { familiesOf, ServiceGauges } from "./families.ts";
import { type Asked, endOf, incidentOf } from "./incident.ts";
import { type IncidentPorts, Incidents, type LastLines } from "./incidents.ts";
import { keptOf } from "./kept-report.ts";
import { leadersOf } from "./leaders.ts";
import { limitOf } from "./memory-watch.ts";
import type { Subject } from "./narrator.ts";
import { endWish } from "./notices.ts";
import type { Notes } from "./part.ts";
import { recordOf, type Seen, withClusters } from "./records.ts";
import { Sightings } from "./sightings.ts";
import { processOf } from "./specs.ts";
import { withStanding } from "./standing.ts";
import { stateOf, type Whole } from "./state-record.ts";

export type Observed = Whole & {
  readonly supervisor: Supervisor;
  readonly spec: (slot: string) => ProcessSpec;
  /** With what the load balancer says of it. */
  readonly balancing: { readonly shown: (record: ProcessRecord) => ProcessRecord };
};

export type ObservatoryPorts = {
  readonly notes: IncidentPorts["notes"];
  readonly lastLines: LastLines;
  readonly sampled?: (samples: ReadonlyMap<string, Sample>) => void;
  readonly report: (problem: string) => void;
};

export class ServiceObservatory implements Observatory {
  readonly #observed: Observed;
  readonly #events: Events;
  readonly #sampler: Sampler;
  readonly #metrics: Metrics;
  readonly #incidents: Incidents;
  readonly #gauges = new ServiceGauges();
  readonly #sightings = new Sightings((id) => this.#sampler.of(id));
  readonly #restarts = new Map<string, number>();
  /** Who wants the run of a process to end. */
  readonly #asked = new Map<string, Asked>();
  #terminating: string | undefined;

  constructor(observed: Observed, { notes, lastLines, sampled, report }: ObservatoryPorts) {
    const { stateDir } = observed.config;
    this.#observed = observed;
    this.#events = new Events(report);
    this.#metrics = new Metrics({ stateDir, hours: () => observed.config.internalLogHours, report });
    this.#sampler = new Sampler({
      stateDir,
      roots: () => leadersOf(observed.supervisor.processes),
      processOf,
      sampled: (samples, at) => {
        this.#onSamples(samples, at);
        sampled?.(samples);
      },
      isLimited: () => observed.config.processes.some((spec) => limitOf(spec) !== undefined),
      report,
    });
    this.#incidents = new Incidents({
      stateDir,
      notes,
      lastLines,
      recent: (id) => this.#metrics.recent(id),
      written: (incident) => this.#events.publish({ type: "process.incident", incident }),
      report,
    });
  }

  /** The service knows by now what runs. */
  begin(notes: Notes): void {
    this.#incidents.resume(notes);
    this.#tellState();
    this.#sampler.start();
  }

  /** `text`: what is said about it. */
  onTransition(transition: Transition, text: string | undefined): void {
    const { slot, to } = transition;
    const id = processOf(slot);
    if (to.status === "starting" && to.restarts > 0) this.#restarts.set(id, (this.#restarts.get(id) ?? 0) + 1);
    this.#onEnd(transition, id);
    if (to.status === "running") this.#asked.delete(id);
    this.tell(id, text);
  }

  onNotice(id: string, notice: Notice, text: string): void {
    const why = endWish(notice);
    if (why !== undefined) this.#asked.set(id, { why });
    switch (notice.type) {
      case "scheduled":
      case "skipped":
      case "missed":
      case "terminated":
        return this.#events.publish({ type: "process.scheduled", process: id, text });
      case "watch":
        return this.#events.publish({ type: "process.watch", process: id, file: notice.files[0] ?? "" });
      default:
        return this.tell(id, text);
    }
  }

  /** Everything is about to be stopped. */
  onTermination(why: string): void {
    this.#terminating = why;
    this.#tellState();
  }

  /** No configuration has it any more. What is on disk stays for its time. */
  forget(id: string): void {
    for (const known of [this.#restarts, this.#asked]) known.delete(id);
    this.#sightings.forget(id);
    this.#metrics.forget(id);
    this.#incidents.forget(id);
  }

  close(): void {
    this.#sampler.stop();
    this.#incidents.close();
    this.#gauges.close();
  }

  watch(): void {
    this.#sampler.watch();
  }

  seen(id: string): Seen {
    return withStanding(this.#sightings.of(id), this.#observed.supervisor, id);
  }

  /** What is wrong with its run; undefined: nothing any more. */
  trouble(id: string, problem: string | undefined): void {
    this.#sightings.trouble(id, problem);
  }

  asked(id: string, { consumer }: Caller): void {
    this.#asked.set(id, { by: consumer });
  }

  async telemetry(report: TelemetryReport, caller: Caller): Promise<void> {
    const { process: id } = report;
    if (caller.process !== undefined && caller.process !== id)
      throw new ProcmanError("process-foreign", `Cannot take telemetry of "${id}": the token is that of "${caller.process}"`);
    this.#observed.supervisor.find(id);
    const kept = keptOf(report);
    this.#sightings.report(id, kept);
    this.#events.publish({ type: "process.telemetry", report: kept });
  }

  metrics(ids: readonly string[], query: MetricQuery): Promise<readonly MetricPoint[]> {
    return this.#metrics.read(ids, query);
  }

  incidents(ids: readonly string[], limit?: number): Promise<readonly Incident[]> {
    return this.#incidents.of(ids, limit);
  }

  async prometheus(): Promise<string> {
    this.#sampler.watch();
    const processes = this.#observed.supervisor.processes.map((process) => ({
      record: this.#record(process.id),
      states: process.states,
      restarts: this.#restarts.get(process.id) ?? 0,
      sample: this.#sampler.of(process.id),
    }));
    const all = withClusters(processes.map(({ record }) => record)).map((record) => this.#observed.balancing.shown(record));
    return expose([...familiesOf(processes, this.#gauges.look(), stateOf(this.#observed)), ...balancerFamilies(all)]);
  }

  /** Each event as it happens. Gives the way to end it. */
  listen(listener: (event: EventRecord) => void): () => void {
    return this.#events.listen(listener);
  }

  onPlugin(plugin: PluginRecord): void {
    this.#events.publish({ type: "plugin.state", plugin });
  }

  events(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    return this.#events.follow(after, signal, () => stateOf(this.#observed));
  }

  subject(id: string): Subject {
    const { supervisor } = this.#observed;
    const [{ policy }, { isBlocked: blocked }] = [this.#observed.spec(id), supervisor.find(id)];
    return withStanding({ policy, blocked, trouble: this.#sightings.of(id).trouble }, supervisor, id);
  }

  #onEnd(transition: Transition, id: string): void {
    const ending = endOf(transition);
    if (ending === undefined) return;
    const asked = this.#asked.get(id);
    const circumstances = { subject: this.subject(id), terminating: this.#terminating, ...(asked === undefined ? {} : { asked }) };
    this.#asked.delete(id);
    this.#incidents.add(transition.slot, (claimOomKill) => incidentOf(transition, ending, { ...circumstances, claimOomKill }));
  }

  #onSamples(samples: ReadonlyMap<string, Sample>, at: number): void {
    this.#incidents.oomKills.look(performance.now());
    this.#metrics.add(samples, at);
  }

  /** For whoever follows the events: `text` is what has changed. */
  tell(id: string, text: string | undefined): void {
    this.#events.publish({ type: "process.state", process: this.#record(id), ...(text === undefined ? {} : { text }) });
  }

  #tellState(): void {
    this.#events.publish({ type: "service.state", state: stateOf(this.#observed) });
  }

  #record(id: string): ProcessRecord {
    const { supervisor, balancing } = this.#observed;
    return balancing.shown(recordOf(supervisor.find(id), this.#observed.spec(id), this.seen(id)));
  }
}
