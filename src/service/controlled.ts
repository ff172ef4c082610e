/** What is controlled: what `Control` in process needs of the service. */
import type { ProcessSpec } from "../config/spec.ts";
import type { ActOptions, Caller, Control, PlanOptions } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { PlanRecord } from "../contract/plan.ts";
import type { Incident, LogEntry, LogSubmission, MetricPoint, MetricQuery, ProcessRecord, TelemetryReport } from "../contract/records.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Seen } from "./records.ts";
import type { Rolling } from "./rolling.ts";
import type { Scaling } from "./scaling.ts";
import type { Whole } from "./state-record.ts";

/** The stored log. */
export type LogBook = Pick<Control, "logs" | "follow"> & {
  readonly log: (submission: LogSubmission, caller: Caller) => Promise<LogEntry>;
};

/** What is seen of processes: numbers, events, ends. */
export type Observatory = Pick<Control, "prometheus"> & {
  /** What comes after the event of this id. */
  readonly events: (after: string | undefined, signal: AbortSignal) => AsyncIterable<EventRecord>;
  readonly telemetry: (report: TelemetryReport, caller: Caller) => Promise<void>;
  /** Of one process, or of several together. */
  readonly metrics: (ids: readonly string[], query: MetricQuery) => Promise<readonly MetricPoint[]>;
  readonly incidents: (ids: readonly string[], limit?: number) => Promise<readonly Incident[]>;
  /** Somebody looks: numbers are fresher for a while. */
  readonly watch: () => void;
  /** Asked for each record: it may only look something up. */
  readonly seen: (id: string) => Seen;
  /** The end of its run that comes next is by this caller's wish. */
  readonly asked: (id: string, caller: Caller) => void;
};

/** What is controlled. */
export type Controlled = Whole & {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  /** No longer in the configuration, and not over yet. */
  readonly leaving: readonly ProcessSpec[];
  readonly terminate: (why: string) => Promise<void>;
  /** Resolves once the keeper has all that was decided. */
  readonly commit: () => Promise<void>;
  readonly logBook: LogBook;
  readonly observatory: Observatory;
  readonly reloading: {
    readonly plan: (options?: PlanOptions) => PlanRecord;
    readonly reload: (why: string, options?: ActOptions) => Promise<PlanRecord>;
  };
  readonly rolling: Pick<Rolling, "restart" | "abort">;
  readonly scaling: Pick<Scaling, "scale">;
  /** With what the load balancer says of it. */
  readonly balancing: { readonly shown: (record: ProcessRecord) => ProcessRecord };
};
