/** One incident: what happened, what followed, and the last lines before it. */
import type { JSX } from "preact";
import { printableOutput } from "../../../core/base/printable.ts";
import { size } from "../../../core/base/quantity.ts";
import { hostTime } from "../../../core/base/time-stamp.ts";
import { type Incident, isRunEnd } from "../../../core/contract/run-summary.ts";
import { hashOf } from "../model/page-address.ts";
import { ScrollArea } from "./scroll-area.tsx";

/** How much of the log before the end of the run a link shows. Milliseconds. */
const BEFORE_MS = 2_000;

/** Leads to the log at the end of the run. */
export function logAddress({ process, time }: Pick<Incident, "process" | "time">): string {
  return hashOf("logs", { process, at: new Date(Date.parse(time) - BEFORE_MS).toISOString() });
}

export function IncidentDetails({ incident }: { readonly incident: Incident }): JSX.Element {
  const { time, process, run, pid, reason, decision, lines, metrics, by } = incident;
  const peak = Math.max(0, ...metrics.map(({ memoryBytes }) => memoryBytes));
  return (
    <div class="incident">
      <p>
        <time dateTime={time}>{hostTime(Date.parse(time))}</time>: {isRunEnd(incident) && `run ${run} of `}
        <a href={hashOf("process", {}, process)}>{process}</a>
        {pid === undefined ? "" : ` (pid ${pid})`} {reason}.{by === undefined ? "" : ` Asked by ${by}.`}
      </p>
      <p>
        What followed: {decision}.{peak === 0 ? "" : ` It used up to ${size(peak)} of memory before.`}{" "}
        <a href={logAddress(incident)}>Log at that time</a>
      </p>
      {lines.length > 0 && (
        <ScrollArea name={`Last lines of run ${run} of ${process} at ${time}`} className="lines">
          <pre>{lines.map(({ text }) => printableOutput(text, false)).join("\n")}</pre>
        </ScrollArea>
      )}
    </div>
  );
}
