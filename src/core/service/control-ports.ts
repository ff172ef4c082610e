/** What the control of a caller needs of the service. */
import type { Caller } from "../contract/control.ts";
import type { FlushRecord, LogEntry, LogItem, LogPage, LogSubmission } from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { KeptHistory } from "../history/history-store.ts";
import type { ScopedQuery } from "../log-store/filter.ts";
import type { Process } from "../supervisor/process.ts";
import type { FlushRequest } from "./log-flushes.ts";
import type { Actions } from "./operations/action.ts";
import type { Deployments } from "./operations/deployments.ts";
import type { HostRollout } from "./operations/host-rollout.ts";
import type { Reloads } from "./operations/reload.ts";
import type { Rollbacks } from "./operations/rollback.ts";
import type { Scaler } from "./operations/scale.ts";
import type { ServiceIncidents } from "./reporting/incidents.ts";
import type { RecordCache } from "./reporting/record-cache.ts";
import type { ServiceEvents } from "./reporting/service-events.ts";
import type { ServiceMetrics } from "./reporting/service-metrics.ts";
import type { Log, Services } from "./services.ts";
import type { Screens } from "./spawn/screens.ts";
import type { KeeperSpawner } from "./spawn/spawner.ts";

/** The stored log. */
export type LogAccess = {
  readonly logs: (query: ScopedQuery) => Promise<LogPage>;
  readonly follow: (query: ScopedQuery, signal: AbortSignal) => AsyncIterable<LogItem>;
  readonly log: (submission: LogSubmission, caller: Caller) => Promise<LogEntry>;
  readonly flush: (request: FlushRequest) => Promise<FlushRecord>;
};

export type ControlPorts = Pick<Services, "link" | "specs" | "supervisor"> & {
  readonly records: RecordCache;
  /** Counts these processes. */
  readonly status: (processes: readonly Process[]) => StateRecord;
  readonly logAccess: LogAccess;
  readonly history: KeptHistory;
  readonly events: Pick<ServiceEvents, "follow" | "telemetry">;
  readonly metrics: Pick<ServiceMetrics, "watch" | "read" | "prometheus">;
  readonly incidents: Pick<ServiceIncidents, "of" | "ended">;
  readonly actions: Pick<Actions, "act">;
  readonly reloads: Pick<Reloads, "plan" | "checkedPlan" | "reload" | "replacePort" | "unapplied" | "lastReload">;
  readonly rollbacks: Pick<Rollbacks, "rollback">;
  readonly rollout: Pick<HostRollout, "rollout" | "mark" | "join" | "step">;
  readonly deployments: Pick<Deployments, "deploy" | "deployment" | "releases" | "rollback">;
  readonly spawner: Pick<KeeperSpawner, "signal">;
  readonly scaler: Pick<Scaler, "scale">;
  /** Writes to its standard input; returns the number of bytes. @throws {ProcmanError} `process-not-running`, `input-refused`, `input-full` */
  readonly typeInto: (process: Process, typed: Uint8Array | string) => number;
  readonly screens: Pick<Screens, "watch" | "isWatching" | "resize">;
  readonly terminate: (why: string) => Promise<void>;
  readonly log: Pick<Log, "audit">;
};
