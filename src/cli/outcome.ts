/** What has become of a process that something was asked of, in a line. */
import type { ProcessRecord } from "../contract/records.ts";

export function outcomeOf({ status, blocked, pid, reason }: ProcessRecord): string {
  const state = blocked ? `${status}, blocked` : status;
  return pid === undefined ? `${state} (${reason})` : `${state} (pid ${pid})`;
}
