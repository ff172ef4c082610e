/** CPU and memory of the last minutes, for sparklines. */
import type { MetricPoint, ProcessRecord } from "../../core/contract/records.ts";
import type { SystemRecord } from "../../core/contract/state-record.ts";

/** One column of a sparkline, as the service keeps its points. Milliseconds. */
const STEP_MS = 5_000;
/** Columns of the widest sparkline. */
const KEPT = 60;

/** `step`: time since 1970 in steps. */
type UsagePoint = { readonly step: number; readonly cpuPercent: number; readonly memoryBytes: number };

export type UsageValue = "cpuPercent" | "memoryBytes";

/** What the machine has: a whole bar, for processes without a limit. */
export type MachineSize = Pick<SystemRecord, "cpus" | "totalMemoryBytes">;

/** CPU and memory of one process, oldest first. */
export type UsageHistory = readonly UsagePoint[];

export type UsageHistories = ReadonlyMap<string, UsageHistory>;

/** The time from which stored points are asked for. Milliseconds since 1970. */
export function historyStart(now: number): number {
  return now - KEPT * STEP_MS;
}

/** Adds what the records say now; forgets processes that are no longer there. */
export function withSamples(histories: UsageHistories, records: readonly ProcessRecord[], now: number): UsageHistories {
  const step = Math.floor(now / STEP_MS);
  const all = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  return new Map(all.map((record) => [record.id, added(histories.get(record.id) ?? [], step, record)]));
}

function added(history: UsageHistory, step: number, { cpuPercent, memoryBytes }: ProcessRecord): UsageHistory {
  if (cpuPercent === undefined || memoryBytes === undefined) return history;
  const before = history.at(-1)?.step === step ? history.slice(0, -1) : history;
  return [...before, { step, cpuPercent, memoryBytes }].slice(-KEPT);
}

/** Puts stored points in front of what was seen. */
export function withStored(history: UsageHistory, points: readonly MetricPoint[]): UsageHistory {
  const first = history[0]?.step ?? Number.POSITIVE_INFINITY;
  const stored = points.map(({ time, cpuPercent, memoryBytes }) => ({
    step: Math.floor(Date.parse(time) / STEP_MS),
    cpuPercent,
    memoryBytes,
  }));
  return [...stored.filter(({ step }) => step < first), ...history].slice(-KEPT);
}

const BARS = [..."▁▂▃▄▅▆▇█"];

/** Values from 0 up, as bars; undefined is blank. `whole`: the value of a whole bar; higher ones are whole, too. */
export function sparkline(values: readonly (number | undefined)[], whole: number): string {
  return values
    .map((value) =>
      value === undefined ? " " : BARS[Math.min(BARS.length - 1, Math.floor((value / whole) * BARS.length))],
    )
    .join("");
}

/** What a whole bar stands for: the limit of the process, else what the machine has; undefined: neither is known. */
export function wholeBar(
  { cpuLimitPercent, memoryLimitBytes }: ProcessRecord,
  value: UsageValue,
  machine: MachineSize | undefined,
): { readonly value: number; readonly isLimit: boolean } | undefined {
  const isCpu = value === "cpuPercent";
  const limit = isCpu ? cpuLimitPercent : memoryLimitBytes;
  if (limit !== undefined) return { value: limit, isLimit: true };
  if (machine === undefined) return undefined;
  return { value: isCpu ? machine.cpus * 100 : machine.totalMemoryBytes, isLimit: false };
}

/** A value for each of the last steps, the newest last. */
export function lastSteps(
  history: UsageHistory,
  { value, now, count }: { readonly value: UsageValue; readonly now: number; readonly count: number },
): readonly (number | undefined)[] {
  const last = Math.floor(now / STEP_MS);
  const known = new Map(history.map((point) => [point.step, point[value]]));
  return Array.from({ length: count }, (_, index) => known.get(last - count + 1 + index));
}
