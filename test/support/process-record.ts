/** Records of processes as tests need them. */
import type { ProcessRecord } from "../../src/core/contract/records.ts";

/** A process that runs, of which nothing else is known than what is given. */
export function processRecord(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return {
    id,
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "runs",
    ...more,
  } as ProcessRecord;
}
