/** Incidents grouped by what happened, the newest group first. Pure. */
import type { Incident } from "../../../core/contract/run-summary.ts";

export type IncidentGroup = {
  readonly key: string;
  readonly process: string;
  readonly cause: Incident["cause"];
  /** Code or signal, if any. */
  readonly how: string;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  /** With those that came too fast to be recorded. */
  readonly count: number;
};

/** The dashboard keeps this many. */
export const INCIDENTS_LIMIT = 300;

/** Newest first. An incident may come twice: in the answer of procman, and as an event. */
export function withIncident(known: readonly Incident[], incident: Incident): readonly Incident[] {
  const isSame = (each: Incident): boolean =>
    each.process === incident.process && each.run === incident.run && each.time === incident.time;
  return known.some(isSame) ? known : [incident, ...known].slice(0, INCIDENTS_LIMIT);
}

export function groupsOf(incidents: readonly Incident[]): readonly IncidentGroup[] {
  const groups = new Map<string, Incident[]>();
  for (const incident of incidents) {
    const key = keyOf(incident);
    groups.set(key, [...(groups.get(key) ?? []), incident]);
  }
  return [...groups].map(([key, members]) => {
    const [{ process, cause } = members[0] as Incident] = members;
    const count = members.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
    return { key, process, cause, how: howOf(members[0] as Incident), incidents: members, count };
  });
}

function keyOf(incident: Incident): string {
  return [incident.process, incident.cause, howOf(incident)].join(" ");
}

function howOf({ code, signal }: Incident): string {
  return signal ?? (code === undefined ? "" : `code ${code}`);
}

/** Ends that somebody wanted, or that count as success. */
export function isWanted({ cause, code, success }: Incident): boolean {
  return (
    success === true ||
    ["operator", "shutdown", "terminate", "watch"].includes(cause) ||
    (cause === "exit" && code === 0)
  );
}
