/** Processes that carry a mark in their environment, wherever they went. */
import { allProcesses, type ProcessStat, processEnvironment } from "./process-stat.ts";

/** Whoever has `PROCMAN_RUN_ID=…@mark`, of all runs or of one (as `web.3`). A look at all processes of the machine: about 20 µs each. */
export function markedProcesses(mark: string, run?: string): readonly ProcessStat[] {
  const which = run?.replaceAll(".", "\\.") ?? "[^\\0 ]*";
  const pattern = new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=${which}@${mark}(?:$|[\\0 ])`);
  return allProcesses().filter(({ pid, state }) => state !== "Z" && pid !== process.pid && pattern.test(processEnvironment(pid) ?? ""));
}
