/** Which entries of the log belong to the last runs of each process, or to one run (`procman logs --runs`, `--run`). */
import type { LogReader } from "../client/connection/log-reader.ts";
import type { LogEntry, LogQuery } from "../core/contract/records.ts";

export type RunChoice = { readonly runs?: number; readonly run?: number };

/** Runs of one process. Numbers begin anew with each procman, so the time counts, too. */
type ShownRuns = { readonly from: number; readonly numbers: ReadonlySet<number>; readonly newest: number };

const STARTED = "started (pid ";

export type RunFilter = {
  /** Milliseconds since 1970; undefined: no such run is stored. */
  readonly from: number | undefined;
  readonly includes: (entry: LogEntry) => boolean;
};

/** Finds the runs by the stored entries about their starts. */
export async function runFilter(reader: LogReader, { processes }: LogQuery, choice: RunChoice): Promise<RunFilter> {
  const starts = new Map<string, LogEntry[]>();
  const query = { ...(processes && { processes }), categories: ["lifecycle"], search: STARTED } as const;
  for await (const { entries } of reader.newestFirst(query))
    for (const entry of entries) {
      const known = starts.get(entry.process ?? "") ?? [];
      if (isWanted(entry, known, choice)) starts.set(entry.process ?? "", [...known, entry]);
    }
  const shown = new Map([...starts].map(([id, found]) => [id, shownOf(found, choice)]));
  return {
    from: shown.size === 0 ? undefined : Math.min(...[...shown.values()].map(({ from }) => from)),
    includes: (entry) => isAmong(entry, shown.get(entry.process ?? "")),
  };
}

function isWanted({ text, run }: LogEntry, known: readonly LogEntry[], { runs, run: wanted }: RunChoice): boolean {
  if (!text.startsWith(STARTED)) return false;
  return wanted === undefined ? known.length < (runs ?? 0) : run === wanted && known.length === 0;
}

/** `found`: newest first. */
function shownOf(found: readonly LogEntry[], { run }: RunChoice): ShownRuns {
  return {
    from: Date.parse(found.at(-1)?.time ?? ""),
    numbers: new Set(found.flatMap((entry) => entry.run ?? [])),
    // Later runs are shown by --follow.
    newest: run === undefined ? (found[0]?.run ?? 0) : Number.POSITIVE_INFINITY,
  };
}

function isAmong({ time, run }: LogEntry, shown: ShownRuns | undefined): boolean {
  if (shown === undefined || Date.parse(time) < shown.from) return false;
  if (run === undefined) return shown.newest !== Number.POSITIVE_INFINITY;
  return shown.numbers.has(run) || run > shown.newest;
}
