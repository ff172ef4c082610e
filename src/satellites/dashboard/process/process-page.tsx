/** One process: what it does, why, what it used, and how it ended. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { explain } from "../../../core/contract/why.ts";
import { hashOf } from "../model/page-address.ts";
import { allOf, dependentsOf, toneOf } from "../model/record-lists.ts";
import { useApp, useNow, useObserved } from "../parts/app-context.ts";
import { Moment } from "../parts/moments.tsx";
import { NoStoreText, useIsStored } from "../parts/no-store.tsx";
import { ProcessActions } from "../parts/process-actions.tsx";
import { StateBadge, ToneSign } from "../parts/state-badge.tsx";
import { DefinitionSection } from "./definition-section.tsx";
import { InstanceTable } from "./instance-table.tsx";
import { ProcessCharts } from "./process-charts.tsx";
import { RunTimeline } from "./run-timeline.tsx";

const HOUR_MS = 3_600_000;
const RANGES: readonly (readonly [name: string, hours: number])[] = [
  ["1 h", 1],
  ["6 h", 6],
  ["24 h", 24],
  ["7 d", 168],
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
  const [hours, setHours] = useState(1);
  const now = useNow(CLOCK_MS);
  const { incidents, problem } = useIncidents(record.id);
  const isStored = useIsStored();
  return (
    <>
      <ProcessHeader record={record} />
      <WhyText record={record} incidents={incidents} now={now} />
      {problem !== undefined && <p class="problem">{problem}</p>}
      <ProcessFacts record={record} records={records} now={now} />
      <fieldset class="chips">
        <legend class="hidden">Time shown</legend>
        {RANGES.map(([name, each]) => (
          <button key={name} type="button" class="chip" aria-pressed={each === hours} onClick={() => setHours(each)}>
            {name}
          </button>
        ))}
      </fieldset>
      {!isStored && <NoStoreText what="The log of this process" />}
      <RunTimeline record={record} incidents={incidents} now={now} rangeMs={hours * HOUR_MS} />
      <ProcessCharts record={record} rangeMs={hours * HOUR_MS} />
      <InstanceTable record={record} />
      <DefinitionSection id={record.id} />
    </>
  );
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
      <ProcessActions record={record} />
      <a class="button" href={hashOf("logs", { process: id })}>
        Log
      </a>
    </div>
  );
}

type LoadedIncidents = { readonly incidents: readonly Incident[]; readonly problem?: string };

const NONE: LoadedIncidents = { incidents: [] };

/** Its incidents, newest first; asked for again when one of it happens. */
function useIncidents(id: string): LoadedIncidents {
  const { model } = useApp();
  const all = useObserved(model.incidents);
  const newest = all?.[0]?.time;
  const [loaded, setLoaded] = useState(NONE);
  useEffect(() => {
    model.client.incidents(id, INCIDENTS).then(
      (incidents) => setLoaded({ incidents }),
      (error: Error) => setLoaded({ incidents: [], problem: error.message }),
    );
    void model.loadIncidents().catch((error: Error) => setLoaded({ incidents: [], problem: error.message }));
  }, [model, id, newest]);
  return loaded;
}

/** The sentences of `procman why`. */
function WhyText({
  record,
  incidents,
  now,
}: {
  readonly record: ProcessRecord;
  readonly incidents: readonly Incident[];
  readonly now: number;
}): JSX.Element {
  const [state, ...others] = explain(record, incidents, now);
  return (
    <div class="why">
      <p>{state}</p>
      {toneOf(record) === "bad" &&
        others.map((sentence) =>
          sentence.startsWith("  ") ? <pre key={sentence}>{sentence}</pre> : <p key={sentence}>{sentence}</p>,
        )}
    </div>
  );
}

type ProcessFactsProps = {
  readonly record: ProcessRecord;
  readonly records: readonly ProcessRecord[];
  readonly now: number;
};

function ProcessFacts({ record, records, now }: ProcessFactsProps): JSX.Element {
  const { dependsOn = [], groups = [], nextRun, nextRestart, nextTerminate, timeZone, restarts } = record;
  const byId = new Map(records.map((each) => [each.id, each]));
  const times = [
    ["Next run", nextRun],
    ["Next restart", nextRestart],
    ["Next stop", nextTerminate],
  ] as const;
  return (
    <dl class="facts-list">
      {times.map(
        ([name, time]) =>
          time !== undefined && (
            <FactRow key={name} name={name}>
              <Moment time={time} now={now} />
              {timeZone === undefined ? "" : `, by the clock of ${timeZone}`}
            </FactRow>
          ),
      )}
      <FactRow name="Restarts">{restarts}</FactRow>
      {groups.length > 0 && <FactRow name="Groups">{groups.join(", ")}</FactRow>}
      <DependencyRow name="Depends on" ids={dependsOn.map(({ process }) => process)} byId={byId} />
      <DependencyRow
        name="Needed by"
        ids={dependentsOf(record.cluster ?? record.id, records).map(({ id }) => id)}
        byId={byId}
      />
    </dl>
  );
}

function FactRow({
  name,
  children,
}: {
  readonly name: string;
  readonly children: JSX.Element | readonly unknown[] | string | number;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children as JSX.Element}</dd>
    </div>
  );
}

type DependencyRowProps = {
  readonly name: string;
  readonly ids: readonly string[];
  readonly byId: ReadonlyMap<string, ProcessRecord>;
};

function DependencyRow({ name, ids, byId }: DependencyRowProps): JSX.Element | null {
  if (ids.length === 0) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd class="dependencies">
        {ids.map((id) => {
          const record = byId.get(id);
          return (
            <a key={id} href={hashOf("process", {}, id)}>
              {record !== undefined && <ToneSign tone={toneOf(record)} />}
              {id}
            </a>
          );
        })}
      </dd>
    </div>
  );
}
