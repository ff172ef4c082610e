/** The runs of processes, newest first: those that are not over, and those whose ends are recorded. */
import { invalid } from "./query.ts";
import type { ProcessRecord } from "./records.ts";
import {
  type Incident,
  isRunEnd,
  type RunIncident,
  type RunPage,
  type RunQuery,
  type RunSummary,
} from "./run-summary.ts";

const DEFAULT_LIMIT = 20;

/** A run that has ended. `slot`: present if it overlapped another run. */
export function endedRun(
  { time, lines: _, metrics: __, decision: ___, next: ____, ...incident }: RunIncident,
  slot?: string,
): RunSummary {
  const { started } = incident;
  return {
    ...incident,
    ...(slot === undefined || slot === incident.process ? {} : { slot }),
    ended: time,
    ...(started === undefined ? {} : { durationMs: Math.max(0, Date.parse(time) - Date.parse(started)) }),
  };
}

/** A run that is not over. `now`: milliseconds since 1970. */
export function runUnderWay(
  run: Omit<RunSummary, "durationMs" | "reason"> & { readonly started: string },
  now = Date.now(),
): RunSummary {
  return { ...run, durationMs: Math.max(0, now - Date.parse(run.started)), reason: "is running" };
}

/** The last runs of one process, from its record and its incidents. */
export function lastRuns(record: ProcessRecord, incidents: readonly Incident[], limit: number): readonly RunSummary[] {
  const { id, run = 0, pid, started, runs = [{ run, ...(pid && { pid }), ...(started && { started }) }] } = record;
  const present = runs.flatMap(({ started: since, ...each }) =>
    since === undefined ? [] : [{ process: id, ...each, started: since }],
  );
  return runPage(
    [...present.map((each) => runUnderWay(each)), ...incidents.filter(isRunEnd).map((incident) => endedRun(incident))],
    {
      limit,
    },
  ).runs;
}

/**
 * A page of these runs. The end of a run takes precedence over the same run under way.
 *
 * @throws {ProcmanError} `input-invalid` for a cursor that is none
 */
export function runPage(runs: readonly RunSummary[], { limit = DEFAULT_LIMIT, cursor }: RunQuery): RunPage {
  const unique = [...new Map(runs.map((run) => [cursorOf(run), run])).values()].sort(byPlace);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const from = after === undefined ? 0 : unique.findIndex((run) => byPlace(after, run) < 0);
  const page = from === -1 ? [] : unique.slice(from, from + limit);
  const last = page.at(-1);
  return last === undefined || last === unique.at(-1) ? { runs: page } : { runs: page, next: cursorOf(last) };
}

/** What orders runs: it stays the same when a run ends. A run that could not be started began when it ended. */
type RunPlace = Pick<RunSummary, "process" | "run" | "started" | "ended">;

const beginning = ({ started, ended }: RunPlace): number => Date.parse(started ?? ended ?? "");

/** Newest first. */
function byPlace(one: RunPlace, other: RunPlace): number {
  return (
    beginning(other) - beginning(one) ||
    other.run - one.run ||
    (one.process < other.process ? -1 : Number(one.process > other.process))
  );
}

function cursorOf(run: RunPlace): string {
  return `${beginning(run)}_${run.run}_${run.process}`;
}

function readCursor(cursor: string): RunPlace {
  const [, time, run, process = ""] = /^(\d{1,15})_(\d{1,15})_(.+)$/.exec(cursor) ?? [];
  if (time === undefined)
    throw invalid([
      {
        place: "query.cursor",
        message: "is not a cursor of this list; take it from the Link header of the page before",
      },
    ]);
  return { process, run: Number(run), started: new Date(Number(time)).toISOString() };
}
