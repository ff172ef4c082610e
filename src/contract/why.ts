/** Why a process is in its state, and how its last runs ended, in sentences. */
import type { Incident, ProcessRecord } from "./records.ts";

export function explain(record: ProcessRecord, incidents: readonly Incident[]): string[] {
  const { id, status, blocked, reason } = record;
  return [
    `${id} is ${blocked ? `${status} and blocked` : status}: ${reason}`,
    ...(incidents.length === 0 ? ["No run of it has ended since its log began."] : []),
    ...incidents.flatMap(({ time, run, reason: why, decision, by, lines }) => [
      `${time} run ${run} ${why}${by === undefined ? "" : ` (asked by ${by})`}; then: ${decision}`,
      ...lines.map(({ text }) => `    ${text}`),
    ]),
  ];
}
