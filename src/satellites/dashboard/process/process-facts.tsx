/** What matters of a process besides its state: pid, port, times, restarts, groups, dependencies. */
import type { ComponentChildren, JSX } from "preact";
import { age, size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hashOf } from "../model/page-address.ts";
import { cpuText, dependentsOf, portOf, toneOf } from "../model/record-lists.ts";
import { Moment } from "../parts/moments.tsx";
import { ToneSign } from "../parts/state-badge.tsx";

type ProcessFactsProps = {
  readonly record: ProcessRecord;
  readonly records: readonly ProcessRecord[];
  readonly now: number;
};

export function ProcessFacts({ record, records, now }: ProcessFactsProps): JSX.Element {
  const { dependsOn = [], groups = [], timeZone, restarts, pid, started } = record;
  const { cpuPercent, cpuLimitPercent, memoryBytes, memoryLimitBytes } = record;
  const byId = new Map(records.map((each) => [each.id, each]));
  const times = [
    ["Next run", record.nextRun],
    ["Next restart", record.nextRestart],
    ["Next stop", record.nextTerminate],
  ] as const;
  return (
    <dl class="facts-list">
      <FactRow name="Pid">{pid}</FactRow>
      <FactRow name="Port">{portOf(record)}</FactRow>
      <FactRow name="Up">{pid !== undefined && started !== undefined && age(now - Date.parse(started))}</FactRow>
      <FactRow name="CPU">{withLimit(cpuPercent, cpuLimitPercent, cpuText)}</FactRow>
      <FactRow name="Memory">{withLimit(memoryBytes, memoryLimitBytes, size)}</FactRow>
      <FactRow name="Restarts">{restarts}</FactRow>
      {times.map(
        ([name, time]) =>
          time !== undefined && (
            <FactRow key={name} name={name}>
              <Moment time={time} now={now} />
              {timeZone === undefined ? "" : `, by the clock of ${timeZone}`}
            </FactRow>
          ),
      )}
      <FactRow name="Groups">{groups.join(", ")}</FactRow>
      <DependencyRow name="Depends on" ids={dependsOn.map(({ process }) => process)} byId={byId} />
      <DependencyRow
        name="Needed by"
        ids={dependentsOf(new Set([record.cluster ?? record.id]), records).map(({ id }) => id)}
        byId={byId}
      />
    </dl>
  );
}

/** @example withLimit(48e6, 100e6, size) // "48.0 MB of 100 MB" */
function withLimit(value: number | undefined, limit: number | undefined, text: (value: number) => string): string {
  if (value === undefined) return "";
  return limit === undefined ? text(value) : `${text(value)} of ${text(limit).replace(" ", "\u00a0")}`;
}

/** Nothing without a value. */
function FactRow({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element | null {
  if (children === undefined || children === false || children === "") return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
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
