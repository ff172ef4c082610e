/** Processes that carry a mark in their environment, wherever they went. */
import { allEnvironments, type ProcessStat, processStat } from "./process-stat.ts";

/** Whoever has `PROCMAN_RUN_ID=…@mark`, of all runs or of one (as `web.3`). A look at all processes of the machine: about 10 µs each. */
export function markedProcesses(mark: string, run?: string): readonly ProcessStat[] {
  const which = run?.replaceAll(".", "\\.") ?? "[^\\0 ]*";
  const pattern = new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=${which}@${mark}(?:$|[\\0 ])`);
  const found: ProcessStat[] = [];
  for (const [pid, environment] of allEnvironments()) {
    const stat = pid !== process.pid && pattern.test(environment) ? processStat(pid) : undefined;
    if (stat !== undefined && stat.state !== "Z") found.push(stat);
  }
  return found;
}
