/** The states of processes as a table that fits the terminal. */
import { age, size } from "../../core/base/quantity.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { type Column, columnTable, type TableScreen } from "./columns.ts";
import { colorOf, inZones, painterFor } from "./format.ts";

/** Columns of the table of processes, here and in the monitor. */
export const STATUS_COLUMNS: readonly Column<ProcessRecord>[] = [
  { title: "ID", cell: ({ id, cluster }) => (cluster === undefined ? id : `  ${id}`) },
  { title: "STATUS", cell: (record) => [record.status, ...remarks(record)].join(", ") },
  { title: "PID", rank: 6, cell: ({ pid }) => (pid === undefined ? "" : String(pid)), isRight: true },
  {
    title: "UP",
    rank: 5,
    cell: ({ pid, started }, now) => (pid === undefined || started === undefined ? "" : age(now - Date.parse(started))),
    isRight: true,
  },
  {
    title: "CPU",
    rank: 3,
    cell: ({ cpuPercent }) => (cpuPercent === undefined ? "" : `${cpuPercent.toFixed(1)} %`),
    isRight: true,
  },
  {
    title: "MEMORY",
    rank: 4,
    cell: ({ memoryBytes }) => (memoryBytes === undefined ? "" : size(memoryBytes)),
    isRight: true,
  },
  {
    title: "RSS",
    rank: 0,
    cell: ({ residentBytes }) => (residentBytes === undefined ? "" : size(residentBytes)),
    isRight: true,
  },
  { title: "CONNECTIONS", rank: 1, cell: connections, isRight: true, isOptional: true },
  { title: "RESTARTS", rank: 2, cell: ({ restarts }) => String(restarts), isRight: true },
  {
    title: "GROUPS",
    rank: 0,
    cell: ({ groups = [], cluster }) => (cluster === undefined ? groups.join(", ") : ""),
    isOptional: true,
    least: 100,
  },
  {
    title: "WHY",
    cell: (record) => [record.reason, ...overLimit(record), ...nextRunOf(record)].join("; "),
  },
];

function remarks({ blocked, disabled, ready, healthy, runs = [] }: ProcessRecord): readonly string[] {
  const overlap = runs.length > 1 ? [`${runs.length} runs`] : [];
  return [
    ...overlap,
    ...(blocked ? ["blocked"] : []),
    ...(disabled ? ["disabled"] : []),
    ...(ready === false ? ["not ready"] : []),
    ...(healthy === false ? ["unhealthy"] : []),
  ];
}

/** A run is stopped for its memory only after several samples over the limit. */
function overLimit({ memoryBytes = 0, memoryLimitBytes = Number.POSITIVE_INFINITY }: ProcessRecord): readonly string[] {
  return memoryBytes > memoryLimitBytes ? [`needs more than its memory limit of ${size(memoryLimitBytes)}`] : [];
}

function nextRunOf({ nextRun, timeZone }: ProcessRecord): readonly string[] {
  return nextRun === undefined ? [] : [`next run ${inZones(new Date(nextRun), timeZone)}`];
}

/** Open connections through the load balancer; for a cluster, the sum. */
function connections({ backend, instances = [] }: ProcessRecord): string {
  const backends = [backend, ...instances.map((instance) => instance.backend)].filter((each) => each !== undefined);
  return backends.length === 0 ? "" : String(backends.reduce((sum, each) => sum + each.connections, 0));
}

export function statusTable(records: readonly ProcessRecord[], screen: TableScreen, now = Date.now()): string {
  const shown = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  const paint = painterFor(screen);
  const columns = STATUS_COLUMNS.map((each) =>
    each.title === "STATUS"
      ? { ...each, paint: (text: string, record: ProcessRecord) => paint(colorOf(record), text) }
      : each,
  );
  return columnTable(columns, shown, screen, now);
}
