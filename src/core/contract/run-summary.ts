/** Runs and the records of their ends. */
import type { Incident, RunSummary } from "../../../generated/records.ts";
import { enumeration, integer, list, literal, openObject, optional, reference, string, time } from "../base/schema.ts";
import { CAUSES, DECISION, END, type EndRecord, INCIDENT_CAUSES } from "./causes.ts";

export type { Incident, RunSummary } from "../../../generated/records.ts";

/** An incident that is the end of a run. */
export type RunIncident = Incident & { readonly cause: EndRecord["kind"] };

export function isRunEnd(incident: Incident): incident is RunIncident {
  return incident.cause !== "growth-refused";
}

const RUN_MEMBERS = {
  process: string({ description: "Id of the process or instance." }),
  run: integer({ description: "Number of the run." }),
  reason: string({ description: "How it ended, in one sentence." }),
  code: optional(integer({ description: "Exit code." })),
  signal: optional(string({ description: "Signal that ended it." })),
  success: optional(literal(true, { description: "Its code or signal counts as success, by `successExitCodes`." })),
  pid: optional(integer({ description: "Its pid." })),
  started: optional(time({ description: "Start of the run. Absent: it could not be started." })),
  by: optional(string({ description: "Consumer of the token that requested its end." })),
  /** Absent in what procman 1.0.0 has recorded. */
  end: optional(END),
  leftOut: optional(
    integer({ description: "Number of ends just before it that came too fast to be recorded one by one." }),
  ),
} as const;

/** The end of a run, or growth that was refused: what happened, why, and what follows. */
export const INCIDENT = openObject(
  {
    time: time({ description: "When it ended; of `growth-refused`: since when." }),
    ...RUN_MEMBERS,
    cause: enumeration(INCIDENT_CAUSES, {
      description:
        "Why it ended. `growth-refused`: no end, but a cluster (`process`, with `run` 0) that needs more instances than it gets.",
    }),
    ended: optional(time({ description: "Of `growth-refused`: when it was over. Absent: it lasts." })),
    decision: string({ description: "What follows." }),
    next: optional(DECISION),
    lines: list(reference("LogEntry"), { description: "Its last lines, oldest first." }),
    metrics: list(reference("MetricPoint"), { description: "Of its last minutes." }),
  },
  { description: "The end of a run, or growth of a cluster that was refused." },
);

/** One that is not over (without `ended`), or one whose end is recorded. */
export const RUN = openObject(
  {
    ...RUN_MEMBERS,
    slot: optional(string({ description: "Of a run that overlapped others: its place, such as `web:2`." })),
    ended: optional(time({ description: "Its end. Absent: it is not over." })),
    durationMs: optional(integer({ description: "From its start to its end or, while it is not over, until now." })),
    cause: optional(enumeration(CAUSES, { description: "Why it ended." })),
  },
  { description: "A run of a process, under way or ended." },
);

export type RunQuery = {
  /** 1 to 1000, default 20. */
  readonly limit?: number;
  /** Cursor of the previous page: continues after it without gap or repeat. */
  readonly cursor?: string;
};

/** `next`: cursor of the next page; absent: there is none. */
export type RunPage = { readonly runs: readonly RunSummary[]; readonly next?: string };
