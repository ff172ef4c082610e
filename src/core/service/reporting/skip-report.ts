/** Says which processes are skipped when one on which they depend has failed permanently. */
import { skipText } from "../../contract/words.ts";
import { hasFailed } from "../../supervisor/verdict.ts";
import { warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";
import type { ServiceEvents } from "./service-events.ts";

/** A skipped process has no transition: the line belongs to that of the process that has failed. */
export function reportSkips(
  { bus, log, supervisor }: Pick<Services, "bus" | "log" | "supervisor">,
  stats: Pick<ProcessStatsCache, "dependencyStatus">,
  events: Pick<ServiceEvents, "publishState">,
): void {
  bus.transitions.listen(({ id: failed, transition: { to } }) => {
    if (!hasFailed(to)) return;
    for (const { id } of supervisor.processes) {
      const loss = supervisor.lossOf(id);
      const { skip } = loss?.members.includes(failed) ? stats.dependencyStatus(id) : {};
      if (skip === undefined) continue;
      const text = skipText(skip);
      log.write(id, warn(text));
      events.publishState(id, text);
    }
  });
}
