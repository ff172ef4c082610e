/** The overview: what is wrong, numbers of processes by state, and all processes. */
import type { JSX } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hashOf } from "../model/page-address.ts";
import { leavesOf, type Tone, toneOf } from "../model/record-lists.ts";
import { useApp, useObserved } from "../parts/app-context.ts";
import { StateBadge, ToneSign } from "../parts/state-badge.tsx";
import { countsOf, type ListFilter, type ListOrder, listed } from "./process-list.ts";
import { ProcessTable } from "./process-table.tsx";

/** Processes with trouble that are listed on top; the table has all. */
const TROUBLES_SHOWN = 5;
const TONE_NAMES: Readonly<Record<Tone, string>> = {
  bad: "in trouble",
  busy: "changing",
  good: "up",
  quiet: "not running",
};

export function OverviewPage(): JSX.Element {
  const { model } = useApp();
  const records = useObserved(model.processes);
  const [filter, setFilter] = useState<ListFilter>({ text: "", tone: undefined });
  const [order, setOrder] = useState<ListOrder>({ key: "attention", isDescending: false });
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = useCallback((id: string) => setOpen((before) => toggled(before, id)), []);
  const rows = useMemo(() => listed(records ?? [], { filter, order, open }), [records, filter, order, open]);
  if (records === undefined) return <p class="empty">Waiting for procman …</p>;
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Troubles records={records} />
      <FilterBar records={records} filter={filter} onFilter={setFilter} />
      {rows.length === 0 ? (
        <EmptyTable total={records.length} onReset={() => setFilter({ text: "", tone: undefined })} />
      ) : (
        <ProcessTable rows={rows} order={order} open={open} onOrder={setOrder} onToggle={toggle} />
      )}
    </>
  );
}

function toggled(set: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(id)) next.add(id);
  return next;
}

function Troubles({ records }: { readonly records: readonly ProcessRecord[] }): JSX.Element | null {
  const bad = leavesOf(records).filter((record) => toneOf(record) === "bad");
  if (bad.length === 0) return null;
  return (
    <section class="troubles" aria-labelledby="troubles-title">
      <h2 id="troubles-title">
        <ToneSign tone="bad" />
        {bad.length === 1 ? "1 process needs attention" : `${bad.length} processes need attention`}
      </h2>
      <ul>
        {bad.slice(0, TROUBLES_SHOWN).map((record) => (
          <li key={record.id}>
            <a href={hashOf("process", {}, record.id)} class="id">
              {record.id}
            </a>
            <StateBadge record={record} />
            <span class="reason">{record.reason}</span>
            <a href={hashOf("logs", { process: record.id })}>Log</a>
          </li>
        ))}
      </ul>
      {bad.length > TROUBLES_SHOWN && <p>… and {bad.length - TROUBLES_SHOWN} more, on top of the table.</p>}
    </section>
  );
}

type FilterBarProps = {
  readonly records: readonly ProcessRecord[];
  readonly filter: ListFilter;
  readonly onFilter: (filter: ListFilter) => void;
};

function FilterBar({ records, filter, onFilter }: FilterBarProps): JSX.Element {
  const counts = countsOf(records);
  const input = useRef<HTMLInputElement>(null);
  const total = counts.bad + counts.busy + counts.good + counts.quiet;
  return (
    <div class="bar">
      <fieldset class="chips">
        <legend class="hidden">Show by state</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.tone === undefined}
          onClick={() => onFilter({ ...filter, tone: undefined })}
        >
          <b>{total}</b> all
        </button>
        {(["bad", "busy", "good", "quiet"] as const).map((tone) => (
          <button
            key={tone}
            type="button"
            class="chip"
            aria-pressed={filter.tone === tone}
            onClick={() => onFilter({ ...filter, tone })}
          >
            <ToneSign tone={tone} />
            <b>{counts[tone]}</b> {TONE_NAMES[tone]}
          </button>
        ))}
      </fieldset>
      <input
        ref={input}
        type="search"
        class="search"
        placeholder="Filter by name, state, group or reason"
        aria-label="Filter processes"
        value={filter.text}
        onInput={({ currentTarget }) => onFilter({ ...filter, text: currentTarget.value })}
      />
    </div>
  );
}

function EmptyTable({ total, onReset }: { readonly total: number; readonly onReset: () => void }): JSX.Element {
  if (total === 0)
    return <p class="empty">This procman has no processes. Add one to its configuration file, then reload it.</p>;
  return (
    <p class="empty">
      No process passes the filter.{" "}
      <button type="button" onClick={onReset}>
        Show all {total}
      </button>
    </p>
  );
}
