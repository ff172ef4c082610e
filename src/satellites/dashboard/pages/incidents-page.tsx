/** The incidents of all processes, grouped by cause. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { groupsOf, type IncidentGroup, isWanted } from "../model/incident-groups.ts";
import { useApp, useNow, useObserved } from "../parts/app-context.ts";
import { IncidentDetails } from "../parts/incident-details.tsx";
import { Moment } from "../parts/moments.tsx";

/** Incidents of a group that are shown at first. */
const FEW = 3;
const CLOCK_MS = 10_000;

export function IncidentsPage({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const { model } = useApp();
  const incidents = useObserved(model.incidents);
  const problem = useLoad(() => model.loadIncidents());
  const [isAll, setAll] = useState(false);
  const process = parameters.get("process");
  const groups = useMemo(
    () =>
      groupsOf(
        (incidents ?? []).filter(
          (each) => (process === null || each.process === process) && (isAll || !isWanted(each)),
        ),
      ),
    [incidents, isAll, process],
  );
  return (
    <>
      <h1>Incidents</h1>
      <div class="bar">
        <label class="check">
          <input type="checkbox" checked={isAll} onChange={({ currentTarget }) => setAll(currentTarget.checked)} />
          also ends that were wanted
        </label>
      </div>
      {problem !== undefined && <p class="problem">{problem}</p>}
      {incidents !== undefined && groups.length === 0 && (
        <p class="empty">No run has ended {isAll ? "" : "against expectation "}as far as is known.</p>
      )}
      {groups.map((group) => (
        <GroupSection key={group.key} group={group} />
      ))}
    </>
  );
}

/** The problem, if loading has failed. */
function useLoad(load: () => Promise<void>): string | undefined {
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    load().catch((error: Error) => setProblem(error.message));
  }, []);
  return problem;
}

function GroupSection({
  group: { process, cause, how, incidents, count },
}: {
  readonly group: IncidentGroup;
}): JSX.Element {
  const [isLong, setLong] = useState(false);
  const now = useNow(CLOCK_MS);
  const shown = isLong ? incidents : incidents.slice(0, FEW);
  const newest = incidents[0];
  return (
    <details class="group">
      <summary>
        <b class="id">{process}</b>
        <span class="cause">
          {cause}
          {how === "" ? "" : `, ${how}`}
        </span>
        <span class="times">{count === 1 ? "once" : `${count} times`}</span>
        <span class="last">{newest !== undefined && <Moment time={newest.time} now={now} />}</span>
      </summary>
      {shown.map((incident) => (
        <IncidentDetails key={`${incident.time} ${incident.run}`} incident={incident} />
      ))}
      {shown.length < incidents.length && (
        <button type="button" onClick={() => setLong(true)}>
          Show all {incidents.length}
        </button>
      )}
    </details>
  );
}
