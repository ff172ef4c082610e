/** The runs of a process as spans on a time line, from its incidents and its present state. Pure. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { isWanted } from "../model/incident-groups.ts";

/** `from`, `to`: milliseconds since 1970. `incident`: how it ended; absent: it runs. */
export type RunSpan = {
  readonly from: number;
  readonly to: number;
  readonly incident?: Incident;
  readonly isBad: boolean;
};

/** Ends that are near each other on the time line, the newest first. */
export type EndMark = { readonly at: number; readonly incidents: readonly Incident[]; readonly isBad: boolean };

/** At most `places` marks, which don't lie on each other. */
export function marksOf(
  spans: readonly RunSpan[],
  { now, rangeMs, places }: { readonly now: number; readonly rangeMs: number; readonly places: number },
): readonly EndMark[] {
  const marks = new Map<number, EndMark>();
  for (const { to, incident, isBad } of spans) {
    if (incident === undefined) continue;
    const place = Math.min(places - 1, Math.floor(((to - now + rangeMs) / rangeMs) * places));
    const before = marks.get(place);
    const incidents = [incident, ...(before?.incidents ?? [])];
    marks.set(place, {
      at: now - rangeMs + ((place + 0.5) / places) * rangeMs,
      incidents,
      isBad: isBad || (before?.isBad ?? false),
    });
  }
  return [...marks.values()];
}

/** Spans of runs within the last `rangeMs`, oldest first; a span that began before is cut. */
export function spansOf(
  { instances, started, pid }: ProcessRecord,
  incidents: readonly Incident[],
  { now, rangeMs }: { readonly now: number; readonly rangeMs: number },
): readonly RunSpan[] {
  const first = now - rangeMs;
  const ended = incidents.flatMap((incident): readonly RunSpan[] => {
    const to = Date.parse(incident.time);
    const from = incident.started === undefined ? to : Date.parse(incident.started);
    return to < first ? [] : [{ from: Math.max(first, from), to, incident, isBad: !isWanted(incident) }];
  });
  const running = (instances ?? [{ started, pid }]).flatMap((each): readonly RunSpan[] =>
    each.pid === undefined || each.started === undefined
      ? []
      : [{ from: Math.max(first, Date.parse(each.started)), to: now, isBad: false }],
  );
  return [...ended.toReversed(), ...running];
}
