/** What operations use: the services, and the parts of the service that know its present state. */
import type { Balancing } from "../balancer/balancing.ts";
import type { SharedSockets } from "../balancer/shared-sockets.ts";
import type { ActiveConfig } from "../config/active-config.ts";
import type { ConfigHistory } from "../config/config-history.ts";
import type { LastingState } from "../recovery/lasting-state.ts";
import type { ServiceIncidents } from "../reporting/incidents.ts";
import type { ProcessStatsCache } from "../reporting/process-stats-cache.ts";
import type { RecordCache } from "../reporting/record-cache.ts";
import type { ServiceEvents } from "../reporting/service-events.ts";
import type { Services } from "../services.ts";
import type { PortHandovers } from "../spawn/port-handovers.ts";
import type { Operations } from "./operations.ts";

export type OperationContext = Pick<Services, "link" | "log" | "markers" | "notes" | "specs" | "supervisor"> & {
  readonly operations: Operations;
  readonly activeConfig: Pick<ActiveConfig, "apply">;
  readonly history: Pick<ConfigHistory, "begin" | "deployed" | "failed" | "finish" | "recover" | "store">;
  readonly balancing: Pick<Balancing, "accepts" | "connectionProblem" | "watch">;
  readonly sockets: Pick<SharedSockets, "checkRestart">;
  readonly handovers: Pick<PortHandovers, "begin">;
  readonly lasting: Pick<LastingState, "setClusterDisabled">;
  readonly events: Pick<ServiceEvents, "publishState">;
  readonly incidents: Pick<ServiceIncidents, "lastEnd" | "recordRequester">;
  readonly records: Pick<RecordCache, "of">;
  readonly stats: Pick<ProcessStatsCache, "messageContext">;
  /** Default of `minUptimeMs` in rollouts. Milliseconds, default 1000. */
  readonly steadyMs?: number | undefined;
};

/** What tells whether a start has succeeded. */
export type StartContext = Pick<OperationContext, "balancing" | "incidents" | "specs" | "supervisor">;
