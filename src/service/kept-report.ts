/** What a process reports of itself, as much of it as is kept. */
import type { TelemetryReport } from "../contract/records.ts";

/** Numbers that one process may report. */
const MOST_METRICS = 50;

export function keptOf(report: TelemetryReport): TelemetryReport {
  return report.metrics === undefined ? report : { ...report, metrics: bounded(report.metrics) };
}

function bounded(metrics: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const finite = Object.entries(metrics).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(finite.slice(0, MOST_METRICS));
}
