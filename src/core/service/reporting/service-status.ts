/** The state of the service as a record. */

import { arch, availableParallelism, freemem, hostname, loadavg, platform, release, totalmem, uptime } from "node:os";
import { compact } from "../../base/compact.ts";
import { VERSION } from "../../base/version.ts";
import type { Config } from "../../config/spec.ts";
import type { PartRecord } from "../../contract/part-record.ts";
import type { PluginRecord } from "../../contract/plugin-record.ts";
import type { Status } from "../../contract/records.ts";
import type { StateRecord, SystemRecord } from "../../contract/state-record.ts";
import { lastEndpoint } from "../../os/published-endpoint.ts";
import type { Process } from "../../supervisor/process.ts";
import { representativeState } from "./process-records.ts";
import { statusOf } from "./status-text.ts";

export type ServiceStatusInput = {
  readonly config: Config;
  readonly processes: readonly Process[];
  /** Whether it waits for a process that has failed permanently. */
  readonly isSkipped: (id: string) => boolean;
  readonly isTerminating: boolean;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Pid of the keeper. */
  readonly keeper: number;
  readonly parts: readonly PartRecord[];
  /** undefined: no plugins are configured. */
  readonly plugins: readonly PluginRecord[] | undefined;
};

export function serviceStatus({
  config,
  processes,
  isSkipped,
  isTerminating,
  startedAt,
  keeper,
  parts,
  plugins,
}: ServiceStatusInput): StateRecord {
  const now = Date.now();
  const { port, hostname, problem } = lastEndpoint(config.stateDir) ?? {};
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return compact({
    name: config.name,
    version: VERSION,
    pid: keeper,
    status: isTerminating ? "terminating" : "running",
    started: new Date(startedAt).toISOString(),
    updated: new Date(now).toISOString(),
    uptimeSeconds: Math.round((now - startedAt) / 1_000),
    configFile: config.file,
    profile: config.profile,
    ...(port === undefined || hostname === undefined || problem !== undefined ? {} : { api: { hostname, port } }),
    internalLogHours: config.internalLogHours,
    memory: { rss, heapTotal, heapUsed, external },
    // Microseconds of CPU per milliseconds of uptime, as percent of a core.
    cpuPercent: Math.round((user + system) / Math.max(1, now - startedAt)) / 10,
    system: systemOf(),
    runtime: { name: "node", version: process.versions.node },
    parts,
    processes: { total: processes.length, ...countsOf(processes, isSkipped) },
    plugins,
  });
}

function systemOf(): SystemRecord {
  return {
    hostname: hostname(),
    platform: platform(),
    release: release(),
    arch: arch(),
    cpus: availableParallelism(),
    loadAverage: loadavg().map((load) => Math.round(load * 100) / 100),
    totalMemoryBytes: totalmem(),
    freeMemoryBytes: freemem(),
    uptimeSeconds: Math.round(uptime()),
  };
}

function countsOf(processes: readonly Process[], isSkipped: (id: string) => boolean): Partial<Record<Status, number>> {
  const counts: Partial<Record<Status, number>> = {};
  for (const { id, states } of processes) {
    const status = statusOf(representativeState(states), isSkipped(id));
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
