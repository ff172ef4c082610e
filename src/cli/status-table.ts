/** The states of processes as a table that fits the terminal. */
import type { ProcessRecord } from "../contract/records.ts";
import { age, colorOf, local, painterFor, size } from "./format.ts";
import { table } from "./table.ts";

type TableScreen = { readonly isTTY?: boolean; readonly columns?: number };

type Column = {
  readonly title: string;
  /** In a narrow terminal, columns with the lowest rank are dropped first; columns without a rank stay. */
  readonly rank?: number;
  readonly cell: (record: ProcessRecord, now: number) => string;
  readonly isRight?: boolean;
  /** Left out if all its cells are empty. */
  readonly isOptional?: boolean;
};

const COLUMNS: readonly Column[] = [
  { title: "ID", cell: ({ id, cluster }) => (cluster === undefined ? id : `  ${id}`) },
  { title: "STATUS", cell: (record) => [record.status, ...remarks(record)].join(", ") },
  { title: "PID", rank: 6, cell: ({ pid }) => (pid === undefined ? "" : String(pid)) },
  {
    title: "UP",
    rank: 5,
    cell: ({ pid, started }, now) => (pid === undefined || started === undefined ? "" : age(now - Date.parse(started))),
  },
  {
    title: "CPU",
    rank: 3,
    cell: ({ cpuPercent }) => (cpuPercent === undefined ? "" : `${cpuPercent.toFixed(1)} %`),
    isRight: true,
    isOptional: true,
  },
  {
    title: "MEMORY",
    rank: 4,
    cell: ({ memoryBytes }) => (memoryBytes === undefined ? "" : size(memoryBytes)),
    isRight: true,
    isOptional: true,
  },
  { title: "CONNECTIONS", rank: 1, cell: connections, isRight: true, isOptional: true },
  { title: "RESTARTS", rank: 2, cell: ({ restarts }) => String(restarts) },
  {
    title: "WHY",
    cell: ({ reason, nextRun }) => (nextRun === undefined ? reason : `${reason}; next run ${local(new Date(nextRun))}`),
  },
];

function remarks({ blocked, ready, healthy, runs = [] }: ProcessRecord): readonly string[] {
  const overlap = runs.length > 1 ? [`${runs.length} runs`] : [];
  return [
    ...overlap,
    ...(blocked ? ["blocked"] : []),
    ...(ready === false ? ["not ready"] : []),
    ...(healthy === false ? ["unhealthy"] : []),
  ];
}

/** Open connections through the load balancer; for a cluster, the sum. */
function connections({ backend, instances = [] }: ProcessRecord): string {
  const backends = [backend, ...instances.map((instance) => instance.backend)].filter((each) => each !== undefined);
  return backends.length === 0 ? "" : String(backends.reduce((sum, each) => sum + each.connections, 0));
}

export function statusTable(records: readonly ProcessRecord[], screen: TableScreen, now = Date.now()): string {
  const shown = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  const rows = shown.map((record) => COLUMNS.map(({ cell }) => cell(record, now)));
  const isUsed = ({ isOptional }: Column, index: number): boolean => isOptional !== true || rows.some((row) => row[index] !== "");
  const columns = COLUMNS.filter(isUsed);
  const paint = painterFor(screen);
  return table(
    columns.map(({ title }) => title),
    rows.map((row) => row.filter((_, index) => isUsed(COLUMNS[index] as Column, index))),
    {
      ...(screen.columns === undefined ? {} : { width: screen.columns }),
      spare: spareOf(columns),
      right: columns.flatMap(({ isRight }, index) => (isRight === true ? [index] : [])),
      paint: (cell, { row, column }) => (column === 1 ? paint(colorOf(shown[row] ?? { status: "created" }), cell) : cell),
    },
  );
}

/** Indexes of the columns in the order in which they are dropped. */
function spareOf(columns: readonly Column[]): readonly number[] {
  const ranked = columns.flatMap(({ rank }, index) => (rank === undefined ? [] : [{ rank, index }]));
  return ranked.sort((one, two) => one.rank - two.rank).map(({ index }) => index);
}
