/** One row of the overview. */
import type { JSX } from "preact";
import { age, size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hashOf } from "../model/page-address.ts";
import { Icon } from "../parts/icons.tsx";
import { memo } from "../parts/memo.ts";
import { Moment } from "../parts/moments.tsx";
import { ProcessActions } from "../parts/process-actions.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { StateBadge } from "../parts/state-badge.tsx";

type ProcessRowProps = {
  readonly record: ProcessRecord;
  readonly isNested: boolean;
  /** Whether the instances of a cluster are shown. */
  readonly isOpen: boolean;
  readonly index: number;
  /** procman's time; it changes slowly. */
  readonly now: number;
  readonly onToggle: (id: string) => void;
};

export const ProcessRow = memo(function ProcessRow(props: ProcessRowProps): JSX.Element {
  const { record, isNested, index, now } = props;
  const { id, reason, restarts, pid, started, nextRun } = record;
  const up = pid === undefined || started === undefined ? undefined : age(now - Date.parse(started));
  return (
    <tr class={isNested ? "nested" : ""} aria-rowindex={index + 2} data-id={id}>
      <th scope="row">
        <ToggleButton {...props} />
        <a href={hashOf("process", {}, id)} class="id" title={id}>
          {id}
        </a>
      </th>
      <td class="state-cell">
        <StateBadge record={record} />
        <span class="reason" title={reason}>
          {reason}
        </span>
        <span class="facts">{factsOf(record, up)}</span>
      </td>
      <td class="number wide-only">{up}</td>
      <td class={restarts > 0 ? "number wide-only" : "number zero wide-only"}>{restarts}</td>
      <Usage
        id={id}
        kind="cpuPercent"
        text={record.cpuPercent === undefined ? undefined : `${record.cpuPercent.toFixed(1)} %`}
      />
      <Usage
        id={id}
        kind="memoryBytes"
        text={record.memoryBytes === undefined ? undefined : size(record.memoryBytes)}
      />
      <td class="number wide-only">{nextRun === undefined ? "" : <Moment time={nextRun} now={now} />}</td>
      <td class="action-cell">
        <ProcessActions record={record} />
      </td>
    </tr>
  );
});

function ToggleButton({ record: { id, instances }, isOpen, onToggle }: ProcessRowProps): JSX.Element {
  if (instances === undefined) return <span class="toggle" />;
  const label = `${instances.length} instances of ${id}`;
  return (
    <button
      type="button"
      class={isOpen ? "toggle open" : "toggle"}
      aria-expanded={isOpen}
      aria-label={label}
      onClick={() => onToggle(id)}
    >
      <Icon name="right" />
    </button>
  );
}

function Usage({
  id,
  kind,
  text,
}: {
  readonly id: string;
  readonly kind: "cpuPercent" | "memoryBytes";
  readonly text: string | undefined;
}): JSX.Element {
  return (
    <td class="usage wide-only">
      <span>{text}</span>
      <Sparkline id={id} kind={kind} />
    </td>
  );
}

/** The columns that a narrow screen has no room for. */
function factsOf({ cpuPercent, memoryBytes, restarts }: ProcessRecord, up: string | undefined): string {
  return [
    ...(up === undefined ? [] : [`up ${up}`]),
    ...(cpuPercent === undefined ? [] : [`${cpuPercent.toFixed(1)} %`]),
    ...(memoryBytes === undefined ? [] : [size(memoryBytes)]),
    ...(restarts === 0 ? [] : [`${restarts} restarts`]),
  ].join(" · ");
}
