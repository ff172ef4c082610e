/** Says which processes are skipped when one on which they depend has failed permanently. */
import { skipText } from "../../contract/words.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { hasFailed } from "../../supervisor/verdict.ts";
import { type LogLine, warn } from "../log-line.ts";
import type { ProcessBus } from "../process-bus.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";

export type SkipReportPorts = {
  readonly bus: ProcessBus;
  readonly supervisor: () => Supervisor;
  readonly stats: Pick<ProcessStatsCache, "dependencyStatus">;
  readonly write: (id: string, line: LogLine) => void;
  readonly publishState: (id: string, text: string) => void;
};

/** A skipped process has no transition: the line belongs to that of the process that has failed. */
export function reportSkips({ bus, supervisor, stats, write, publishState }: SkipReportPorts): void {
  bus.transitions.listen(({ id: failed, transition: { to } }) => {
    if (!hasFailed(to)) return;
    for (const { id } of supervisor().processes) {
      const loss = supervisor().lossOf(id);
      const { skip } = loss?.members.includes(failed) ? stats.dependencyStatus(id) : {};
      if (skip === undefined) continue;
      const text = skipText(skip);
      write(id, warn(text));
      publishState(id, text);
    }
  });
}
