/** One row of the overview: a process, or the head of a group. */
import type { JSX } from "preact";
import { age, size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { cpuText, portOf, reasonIn } from "../model/record-lists.ts";
import { Icon } from "../parts/icons.tsx";
import { memo } from "../parts/memo.ts";
import { Moment } from "../parts/moments.tsx";
import { ProcessActions } from "../parts/process-actions.tsx";
import { ProcessLink } from "../parts/process-name.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { StateBadge } from "../parts/state-badge.tsx";
import type { OnSelect } from "./row-selection.ts";
import type { ShownColumns } from "./view-options.ts";

type ProcessRowProps = {
  readonly record: ProcessRecord;
  readonly isNested: boolean;
  /** Its reason has as much room as it needs. */
  readonly isPinned: boolean;
  /** Whether the instances of a cluster are shown. */
  readonly isOpen: boolean;
  readonly index: number;
  /** procman's time; it changes slowly. */
  readonly now: number;
  /** undefined: a card, for narrow screens. */
  readonly columns: ShownColumns | undefined;
  /** What a card shows on demand. */
  readonly demanded: { readonly pid: boolean; readonly port: boolean };
  readonly isSelected: boolean;
  /** undefined: the user may not act on it. */
  readonly onSelect: OnSelect | undefined;
  readonly onToggle: (id: string) => void;
};

/** What the badge says already, as does a reason that is the status. */
const RUNS = "runs";

export const ProcessRow = memo(function ProcessRow(props: ProcessRowProps): JSX.Element {
  const { record, isNested, isPinned, isSelected, index, now, columns, demanded } = props;
  const { id, status, reason } = record;
  const unused = isPinned && columns !== undefined ? unusedColumns(record, columns) : 0;
  return (
    <tr class={`${isNested ? "nested" : ""}${isSelected ? " selected" : ""}`} aria-rowindex={index + 2} data-id={id}>
      <th scope="row">
        <div class="name-cell">
          <SelectBox {...props} />
          <ToggleButton {...props} />
          <ProcessLink id={id} />
        </div>
      </th>
      <td class="state-cell" colSpan={1 + unused}>
        <StateBadge record={record} />
        {columns === undefined && <span class="facts">{factsOf(record, upText(record, now), demanded)}</span>}
        {reason !== RUNS && reason !== status && (
          <span class="reason" title={reason}>
            {reasonIn(record, now)}
          </span>
        )}
      </td>
      {columns?.keys.slice(unused).map((key) => (
        <ValueCell key={key} column={key} record={record} now={now} hasCurve={columns.hasCurves} />
      ))}
      <td class="action-cell">
        <ProcessActions record={record} />
      </td>
    </tr>
  );
});

/** Columns beside the state that have no value while the process doesn't run. */
function unusedColumns(record: ProcessRecord, { keys }: ShownColumns): number {
  if (record.pid !== undefined || record.instances !== undefined) return 0;
  const first = keys.findIndex((key) => key === "restarts" || key === "next");
  return first < 0 ? keys.length : first;
}

function upText({ pid, started }: ProcessRecord, now: number): string {
  return pid === undefined || started === undefined ? "" : age(now - Date.parse(started));
}

type ValueCellProps = {
  readonly column: ShownColumns["keys"][number];
  readonly record: ProcessRecord;
  readonly now: number;
  readonly hasCurve: boolean;
};

function ValueCell({ column, record, now, hasCurve }: ValueCellProps): JSX.Element {
  const { id, pid, restarts, cpuPercent, memoryBytes, nextRun } = record;
  switch (column) {
    case "pid":
      return <td class="number">{pid}</td>;
    case "port":
      return <td class="number">{portOf(record)}</td>;
    case "up":
      return <td class="number">{upText(record, now)}</td>;
    case "restarts":
      return <td class={restarts > 0 ? "number" : "number zero"}>{restarts}</td>;
    case "cpu":
      return (
        <td class="number">
          {hasCurve && <Sparkline id={id} kind="cpuPercent" />}
          {cpuText(cpuPercent)}
        </td>
      );
    case "memory":
      return (
        <td class="number">
          {hasCurve && <Sparkline id={id} kind="memoryBytes" />}
          {memoryBytes === undefined ? "" : size(memoryBytes)}
        </td>
      );
    case "next":
      return <td class="number">{nextRun === undefined ? "" : <Moment time={nextRun} now={now} />}</td>;
  }
}

function SelectBox({ record: { id }, isSelected, onSelect }: ProcessRowProps): JSX.Element | null {
  if (onSelect === undefined) return null;
  return (
    <input
      type="checkbox"
      class="select-box"
      aria-label={`Select ${id}`}
      checked={isSelected}
      onMouseDown={(event) => {
        // Shift would mark text.
        if (event.shiftKey) event.preventDefault();
      }}
      onClick={({ currentTarget, shiftKey }) => {
        // A row that is in the range already stays selected.
        if (shiftKey) currentTarget.checked = true;
        onSelect(id, shiftKey);
      }}
    />
  );
}

function ToggleButton({ record: { id, instances }, isOpen, onToggle }: ProcessRowProps): JSX.Element {
  if (instances === undefined) return <span class="toggle" />;
  const label = `${instances.length} ${instances.length === 1 ? "instance" : "instances"} of ${id}`;
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

/** The columns that a narrow screen has no room for. */
function factsOf(record: ProcessRecord, up: string, demanded: ProcessRowProps["demanded"]): string {
  const { cpuPercent, memoryBytes, restarts, pid } = record;
  const port = portOf(record);
  return [
    ...(up === "" ? [] : [`up ${up}`]),
    ...(cpuPercent === undefined ? [] : [cpuText(cpuPercent)]),
    ...(memoryBytes === undefined ? [] : [size(memoryBytes)]),
    ...(restarts === 0 ? [] : [restarts === 1 ? "1 restart" : `${restarts} restarts`]),
    ...(demanded.pid && pid !== undefined ? [`pid ${pid}`] : []),
    ...(demanded.port && port !== undefined ? [`port ${port}`] : []),
  ].join(" · ");
}
