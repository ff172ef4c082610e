/** Incidents grouped by what happened, the newest group first. Pure. */
import { type Incident, isRunEnd } from "../../../core/contract/run-summary.ts";
import { CAUSE_NAMES } from "../../../core/contract/why.ts";
import { errorLineOf, withoutNumbers } from "./error-line.ts";

export type IncidentGroup = {
  readonly key: string;
  readonly process: string;
  /** How the runs ended, in words. */
  readonly cause: string;
  /** What tells them apart from others, as the newest one has it. */
  readonly errorLine: string | undefined;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  /** With those that came too fast to be recorded. */
  readonly count: number;
};

/** The dashboard keeps this many. */
export const INCIDENTS_LIMIT = 300;

/** Newest first. An incident may come twice: in the answer of procman, and as an event. Refused growth comes again when it is over. */
export function withIncident(known: readonly Incident[], incident: Incident): readonly Incident[] {
  const isSame = (each: Incident): boolean =>
    each.process === incident.process && each.run === incident.run && each.time === incident.time;
  if (!known.some(isSame)) return [incident, ...known].slice(0, INCIDENTS_LIMIT);
  return isRunEnd(incident) ? known : known.map((each) => (isSame(each) ? incident : each));
}

export type IncidentFilter = {
  /** Parts of process, cause or error line; all must be there. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Whether ends that somebody wanted are included. */
  readonly isAll: boolean;
};

/** Ends of one process with the same cause, code or signal, and error line are a group. */
export function groupsOf(incidents: readonly Incident[], filter: IncidentFilter): readonly IncidentGroup[] {
  const groups = new Map<string, Incident[]>();
  for (const incident of incidents) {
    if (Date.parse(incident.time) < filter.from || (!filter.isAll && isWanted(incident))) continue;
    const key = keyOf(incident);
    groups.set(key, [...(groups.get(key) ?? []), incident]);
  }
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...groups]
    .map(([key, members]) => groupOf(key, members))
    .filter(({ process, cause, errorLine = "" }) => {
      const text = `${process} ${cause} ${errorLine}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
}

function groupOf(key: string, members: readonly Incident[]): IncidentGroup {
  const newest = members[0] as Incident;
  return {
    key,
    process: newest.process,
    cause: causeText(newest),
    errorLine: errorLineOf(newest) ?? newest.end?.message ?? (isRunEnd(newest) ? undefined : newest.reason),
    incidents: members,
    count: countOf(members),
  };
}

/** With those that came too fast to be recorded. */
export function countOf(incidents: readonly Incident[]): number {
  return incidents.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
}

function keyOf(incident: Incident): string {
  const { process, cause, code = "", signal = "" } = incident;
  return [process, cause, code, signal, withoutNumbers(errorLineOf(incident) ?? "")].join(" ");
}

/** @example causeText({ cause: "exit", code: 3 }) // "exited with code 3" */
function causeText({ cause, code, signal }: Incident): string {
  if (cause === "exit" && code !== undefined) return `exited with code ${code}`;
  const how = signal ?? (code === undefined ? "" : `code ${code}`);
  return `${CAUSE_NAMES[cause]}${how === "" ? "" : ` (${how})`}`;
}

/** Ends that somebody wanted, or that count as success. */
export function isWanted({ cause, code, success }: Incident): boolean {
  return (
    success === true ||
    ["operator", "shutdown", "terminate", "watch", "idle"].includes(cause) ||
    (cause === "exit" && code === 0)
  );
}
