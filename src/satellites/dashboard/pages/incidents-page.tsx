/** The incidents of all processes: equal ones in one row, with the line that tells them apart. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { hostTime } from "../../../core/base/time-stamp.ts";
import { type Incident, isRunEnd } from "../../../core/contract/run-summary.ts";
import { groupsOf, INCIDENTS_LIMIT, type IncidentGroup } from "../model/incident-groups.ts";
import { useApp, useNow, useObserved } from "../parts/app-context.ts";
import { Icon } from "../parts/icons.tsx";
import { IncidentDetails, logAddress } from "../parts/incident-details.tsx";
import { Moment } from "../parts/moments.tsx";
import { ProcessName } from "../parts/process-name.tsx";

/** Incidents of a group that are listed at first. */
const FEW = 10;
const CLOCK_MS = 10_000;
const HOUR_MS = 3_600_000;
const RANGES: readonly (readonly [name: string, hours: number])[] = [
  ["1 h", 1],
  ["24 h", 24],
  ["7 d", 168],
  ["All", Number.POSITIVE_INFINITY],
];

export function IncidentsPage({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const { model } = useApp();
  const incidents = useObserved(model.incidents);
  const problem = useLoad(() => model.loadIncidents());
  const [isAll, setAll] = useState(false);
  const [hours, setHours] = useState(Number.POSITIVE_INFINITY);
  const [text, setText] = useState(parameters.get("process") ?? "");
  const now = useNow(CLOCK_MS);
  const groups = useMemo(
    () => groupsOf(incidents ?? [], { text, isAll, from: now - hours * HOUR_MS }),
    [incidents, isAll, text, hours, now],
  );
  return (
    <>
      <h1>Incidents</h1>
      <div class="bar">
        <fieldset class="chips">
          <legend class="hidden">Time range</legend>
          {RANGES.map(([name, each]) => (
            <button key={name} type="button" class="chip" aria-pressed={each === hours} onClick={() => setHours(each)}>
              {name}
            </button>
          ))}
        </fieldset>
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={({ currentTarget }) => setAll(currentTarget.checked)} />
          Include requested stops
        </label>
        <input
          type="search"
          class="search"
          placeholder="Filter by process, cause or error"
          aria-label="Filter incidents"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {incidents === undefined
        ? problem === undefined && <p class="empty">Waiting for procman …</p>
        : groups.length === 0 && <p class="empty">{emptyText(incidents.length > 0)}</p>}
      {groups.map((group) => (
        <GroupSection key={group.key} group={group} now={now} />
      ))}
      {incidents !== undefined && incidents.length >= INCIDENTS_LIMIT && (
        <p class="muted">The last {INCIDENTS_LIMIT} incidents; earlier ones are on the pages of their processes.</p>
      )}
    </>
  );
}

function emptyText(hasOthers: boolean): string {
  return hasOthers
    ? "No matches. The filters above leave out requested stops and other times."
    : "No incidents: no run has ended unexpectedly.";
}

/** The problem, if loading has failed. */
function useLoad(load: () => Promise<void>): string | undefined {
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    load().catch((error: Error) => setProblem(error.message));
  }, []);
  return problem;
}

type GroupSectionProps = { readonly group: IncidentGroup; readonly now: number };

/** The newest incident in full; of the others, which are alike, the time and a way to their lines. */
function GroupSection({ group, now }: GroupSectionProps): JSX.Element {
  const { process, cause, errorLine, incidents, count } = group;
  const [isLong, setLong] = useState(false);
  const [newest, ...others] = incidents;
  const shown = isLong ? others : others.slice(0, FEW);
  return (
    <details class="group">
      <summary>
        <Icon name="right" />
        <b class="id">
          <ProcessName id={process} />
        </b>
        <span class="what">
          <span class="cause">{cause}</span>
          {errorLine !== undefined && (
            <code class="error-line" title={errorLine}>
              {errorLine}
            </code>
          )}
        </span>
        <span class="times">{count === 1 ? "once" : `${count} times`}</span>
        <span class="last">{newest !== undefined && <Moment time={newest.time} now={now} />}</span>
      </summary>
      {newest !== undefined && <IncidentDetails incident={newest} />}
      {shown.length > 0 && (
        <ul class="earlier">
          {shown.map((incident) => (
            <EarlierIncident key={`${incident.time} ${incident.run}`} incident={incident} />
          ))}
        </ul>
      )}
      {shown.length < others.length && (
        <button type="button" onClick={() => setLong(true)}>
          Show all {incidents.length}
        </button>
      )}
    </details>
  );
}

function EarlierIncident({ incident }: { readonly incident: Incident }): JSX.Element {
  const { time, run, process, reason, leftOut } = incident;
  return (
    <li>
      <time dateTime={time}>{hostTime(Date.parse(time))}</time> {isRunEnd(incident) && `run ${run} `}
      {reason}
      {leftOut === undefined ? "" : `, and ${leftOut} before it, too fast to be recorded`}.{" "}
      <a href={logAddress(incident)} aria-label={`Log of ${process} at ${time}`}>
        Log
      </a>
    </li>
  );
}
