/** Above the table of processes: their numbers, what they use together, and what is shown of them. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { cpuText } from "../model/record-lists.ts";
import { useApp, useObserved } from "../parts/app-context.ts";
import { Picker } from "../parts/picker.tsx";
import { ToneSign } from "../parts/state-badge.tsx";
import { countsOf, firstOrder, type ListFilter, type ListOrder, SORTS, type SortKey, usageOf } from "./process-list.ts";
import { TONE_NAMES } from "./tone-names.ts";
import type { ViewOptions } from "./view-options.ts";

type FilterBarProps = {
  readonly records: readonly ProcessRecord[];
  readonly filter: ListFilter;
  readonly onFilter: (filter: ListFilter) => void;
  readonly options: ViewOptions;
  readonly onOptions: (options: ViewOptions) => void;
  readonly order: ListOrder;
  readonly onOrder: (order: ListOrder) => void;
};

export function FilterBar(props: FilterBarProps): JSX.Element {
  const { records, filter, onFilter } = props;
  const counts = countsOf(records);
  const input = useRef<HTMLInputElement>(null);
  useSlash(input);
  return (
    <div class="bar overview-bar">
      <fieldset class="chips">
        <legend class="hidden">Filter by state</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.tone === undefined}
          onClick={() => onFilter({ ...filter, tone: undefined })}
        >
          <b>{records.length}</b> {records.length === 1 ? "process" : "processes"}
        </button>
        {(["bad", "busy", "good", "quiet"] as const).map((tone) => (
          <button
            key={tone}
            type="button"
            class="chip"
            aria-pressed={filter.tone === tone}
            disabled={counts[tone] === 0 && filter.tone !== tone}
            onClick={() => onFilter({ ...filter, tone })}
          >
            <ToneSign tone={tone} />
            <b>{counts[tone]}</b> {TONE_NAMES[tone]}
          </button>
        ))}
      </fieldset>
      <UsageTotals records={records} />
      <input
        ref={input}
        type="search"
        class="search"
        placeholder="Filter"
        aria-label="Filter processes"
        title="By name, state, group or reason; press / to type here"
        value={filter.text}
        onInput={({ currentTarget }) => onFilter({ ...filter, text: currentTarget.value })}
      />
      <ViewPicker {...props} />
    </div>
  );
}

/** The key / goes to the input, unless text is being typed. */
function useSlash(input: { readonly current: HTMLInputElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (/^(?:INPUT|SELECT|TEXTAREA)$/.test((event.target as HTMLElement).tagName)) return;
      input.current?.focus();
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [input]);
}

function UsageTotals({ records }: { readonly records: readonly ProcessRecord[] }): JSX.Element {
  const { model } = useApp();
  const system = useObserved(model.state)?.system;
  const { cpuPercent, memoryBytes } = usageOf(records);
  const cores = system === undefined ? "" : ` of ${system.cpus * 100} %`;
  const memory = system === undefined ? "" : ` of ${size(system.totalMemoryBytes)}`;
  return (
    <p class="usage-totals">
      <span title="All processes combined; 100 % is one core">
        CPU <b>{cpuText(cpuPercent)}</b>
        <span class="of">{cores}</span>
      </span>
      <span title="Private memory of all processes combined">
        Memory <b>{size(memoryBytes)}</b>
        <span class="of">{memory}</span>
      </span>
    </p>
  );
}

const SORT_NAMES: Readonly<Record<SortKey, string>> = {
  attention: "Trouble first",
  id: "Name",
  status: "State",
  up: "Time since the start",
  restarts: "Restarts",
  cpu: "CPU",
  memory: "Memory",
  next: "Next run",
};

const CHOICES: readonly (readonly [keyof ViewOptions, string])[] = [
  ["isGrouped", "By group"],
  ["isCompact", "Compact rows"],
  ["pid", "Pid"],
  ["port", "Port"],
];

function ViewPicker({ options, onOptions, order, onOrder }: FilterBarProps): JSX.Element {
  return (
    <Picker summary="View" className="view-picker">
      <fieldset>
        <legend class="hidden">What is shown</legend>
        <label class="sort-choice">
          Sort by
          <select
            value={order.key}
            onChange={({ currentTarget }) => onOrder(firstOrder(currentTarget.value as SortKey))}
          >
            {SORTS.map((key) => (
              <option key={key} value={key}>
                {SORT_NAMES[key]}
              </option>
            ))}
          </select>
        </label>
        {CHOICES.map(([key, name]) => (
          <label key={key}>
            <input
              type="checkbox"
              checked={options[key]}
              onChange={({ currentTarget }) => onOptions({ ...options, [key]: currentTarget.checked })}
            />
            {name}
          </label>
        ))}
      </fieldset>
    </Picker>
  );
}
