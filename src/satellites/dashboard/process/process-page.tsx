/** One process: its state and its error, its log as it comes, what it used, and how it ended. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { hashOf } from "../model/page-address.ts";
import { allOf } from "../model/record-lists.ts";
import { useApp, useNow, useObserved, useRights } from "../parts/app-context.ts";
import { NoStoreText, useIsStored } from "../parts/no-store.tsx";
import { ProcessActions } from "../parts/process-actions.tsx";
import { StateBadge } from "../parts/state-badge.tsx";
import { DefinitionSection } from "./definition-section.tsx";
import { InputLine } from "./input-line.tsx";
import { InstanceTable } from "./instance-table.tsx";
import { LogTail } from "./log-tail.tsx";
import { ProcessCharts } from "./process-charts.tsx";
import { ProcessFacts } from "./process-facts.tsx";
import { RunTimeline } from "./run-timeline.tsx";
import { WhyBox } from "./why-box.tsx";

const HOUR_MS = 3_600_000;
/** The first one for processes that are new. */
const RANGES: readonly (readonly [name: string, ms: number])[] = [
  ["5 min", HOUR_MS / 12],
  ["1 h", HOUR_MS],
  ["6 h", 6 * HOUR_MS],
  ["24 h", 24 * HOUR_MS],
  ["7 d", 168 * HOUR_MS],
];
const CLOCK_MS = 5_000;
const INCIDENTS = 100;

export function ProcessPage({ id }: { readonly id: string }): JSX.Element {
  const { model } = useApp();
  const records = useObserved(model.processes);
  const record = allOf(records ?? []).find((each) => each.id === id);
  if (records === undefined) return <p class="empty">Waiting for procman …</p>;
  if (record === undefined)
    return (
      <p class="empty">
        There is no process <b>{id}</b>: it isn't in the configuration, or this token may not see it.{" "}
        <a href={hashOf("overview")}>All processes</a>
      </p>
    );
  return <FoundProcess record={record} records={records} />;
}

type FoundProcessProps = { readonly record: ProcessRecord; readonly records: readonly ProcessRecord[] };

function FoundProcess({ record, records }: FoundProcessProps): JSX.Element {
  const now = useNow(CLOCK_MS);
  const { incidents, problem } = useIncidents(record.id);
  const [chosen, setChosen] = useState<number>();
  const rangeMs = chosen ?? firstRange(record, incidents ?? [], now);
  return (
    <>
      <ProcessHeader record={record} />
      <div class="beside">
        <div>
          <WhyBox record={record} incidents={incidents ?? []} now={now} />
          {problem !== undefined && <p class="problem">{problem}</p>}
          <ProcessFacts record={record} records={records} now={now} />
        </div>
        <LogPart record={record} />
      </div>
      <fieldset class="chips">
        <legend class="hidden">Time range</legend>
        {RANGES.map(([name, each]) => (
          <button key={name} type="button" class="chip" aria-pressed={each === rangeMs} onClick={() => setChosen(each)}>
            {name}
          </button>
        ))}
      </fieldset>
      <RunTimeline record={record} incidents={incidents ?? []} now={now} rangeMs={rangeMs} />
      <ProcessCharts record={record} rangeMs={rangeMs} />
      <InstanceTable record={record} now={now} />
      <DefinitionSection id={record.id} />
    </>
  );
}

/** Its last lines, and a line for its input, if the token may type. */
function LogPart({ record: { id, input } }: { readonly record: ProcessRecord }): JSX.Element {
  const isStored = useIsStored();
  const { mayType } = useRights();
  const inputLine = input === true && mayType && <InputLine key={id} id={id} />;
  if (isStored)
    return (
      <LogTail key={id} id={id}>
        {inputLine}
      </LogTail>
    );
  return (
    <div>
      <NoStoreText what="The log of this process" />
      {inputLine}
    </div>
  );
}

/** An hour, or the shortest range for a process all of whose life is in it. */
function firstRange({ started, instances = [] }: ProcessRecord, incidents: readonly Incident[], now: number): number {
  const [[, shortest] = ["", HOUR_MS]] = RANGES;
  const times = [
    started,
    ...instances.map((each) => each.started),
    ...incidents.flatMap((each) => [each.started, each.time]),
  ];
  const known = times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)]));
  return known.length > 0 && Math.min(...known) > now - shortest ? shortest : HOUR_MS;
}

function ProcessHeader({ record }: { readonly record: ProcessRecord }): JSX.Element {
  const { id, cluster } = record;
  return (
    <div class="title-bar">
      <h1>{id}</h1>
      <StateBadge record={record} />
      {cluster !== undefined && (
        <span>
          of <a href={hashOf("process", {}, cluster)}>{cluster}</a>
        </span>
      )}
      <ProcessActions record={record} hasWords />
    </div>
  );
}

/** `incidents` undefined: they aren't known yet. */
type LoadedIncidents = { readonly incidents?: readonly Incident[]; readonly problem?: string };

const NONE: LoadedIncidents = {};

/** Its incidents, newest first; asked for again when one of it happens. */
function useIncidents(id: string): LoadedIncidents {
  const { model } = useApp();
  const all = useObserved(model.incidents);
  const newest = all?.[0]?.time;
  const [loaded, setLoaded] = useState(NONE);
  useEffect(() => {
    const fail = (error: Error): void => setLoaded({ incidents: [], problem: error.message });
    model.client.incidents(id, INCIDENTS).then((incidents) => setLoaded({ incidents }), fail);
    void model.loadIncidents().catch(fail);
  }, [model, id, newest]);
  return loaded;
}
