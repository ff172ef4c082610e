/** The controls of the log page. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { SEVERITIES, type Severity } from "../../../core/contract/records.ts";
import { useApp, useObserved } from "../parts/app-context.ts";
import { Icon } from "../parts/icons.tsx";
import type { LogPageView } from "./log-filter.ts";

export type LogToolbarProps = {
  readonly view: LogPageView;
  readonly onView: (view: LogPageView) => void;
  readonly isWrapped: boolean;
  readonly onWrap: (isWrapped: boolean) => void;
  readonly onStep: (step: 1 | -1) => void;
  /** Number of lines with hits among the loaded ones. */
  readonly hits: number;
  readonly onCopy: () => void;
  readonly onDownload: () => void;
};

export function LogToolbar(props: LogToolbarProps): JSX.Element {
  const { view, onView, isWrapped, onWrap, onCopy, onDownload } = props;
  return (
    <div class="bar log-bar">
      <ProcessPicker view={view} onView={onView} />
      <label class="inline">
        <span class="hidden">Severity</span>
        <select
          value={view.severity ?? ""}
          onChange={({ currentTarget }) =>
            onView({ ...view, severity: (currentTarget.value || undefined) as Severity | undefined })
          }
        >
          <option value="">All severities</option>
          {SEVERITIES.slice(1).map((severity) => (
            <option key={severity} value={severity}>
              {severity}
              {severity === "error" ? "" : " and worse"}
            </option>
          ))}
        </select>
      </label>
      <JumpForm view={view} onView={onView} />
      <FindBox {...props} />
      <span class="tools">
        <button
          type="button"
          class="icon-button"
          aria-pressed={isWrapped}
          aria-label="Wrap long lines"
          title="Wrap long lines"
          onClick={() => onWrap(!isWrapped)}
        >
          <Icon name="wrap" />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Copy the loaded lines"
          title="Copy the loaded lines"
          onClick={onCopy}
        >
          <Icon name="copy" />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label="Download all lines of this filter"
          title="Download all lines of this filter"
          onClick={onDownload}
        >
          <Icon name="download" />
        </button>
      </span>
    </div>
  );
}

type ViewProps = Pick<LogToolbarProps, "view" | "onView">;

function ProcessPicker({ view, onView }: ViewProps): JSX.Element {
  const { model } = useApp();
  const ids = (useObserved(model.processes) ?? []).map(({ id }) => id);
  const { processes } = view;
  const known = [...new Set([...ids, ...processes])];
  const set = (id: string, isOn: boolean): void =>
    onView({ ...view, processes: isOn ? [...processes, id] : processes.filter((each) => each !== id) });
  const summary =
    processes.length === 0
      ? "All processes"
      : processes.length > 2
        ? `${processes.length} processes`
        : processes.join(", ");
  return (
    <details class="picker">
      <summary>{summary}</summary>
      <fieldset>
        <legend class="hidden">Processes</legend>
        <button type="button" onClick={() => onView({ ...view, processes: [] })}>
          All processes
        </button>
        {known.map((id) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={processes.includes(id)}
              onChange={({ currentTarget }) => set(id, currentTarget.checked)}
            />
            {id}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

/** In the time zone of the browser. */
function JumpForm({ view, onView }: ViewProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const submit = (event: Event): void => {
    event.preventDefault();
    const time = Date.parse(input.current?.value ?? "");
    onView({ ...view, at: Number.isNaN(time) ? undefined : time });
  };
  const shown =
    view.at === undefined
      ? ""
      : new Date(view.at - new Date(view.at).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  return (
    <form class="inline" onSubmit={submit}>
      <input ref={input} key={shown} type="datetime-local" step="1" aria-label="Time to jump to" defaultValue={shown} />
      <button type="submit">Jump</button>
    </form>
  );
}

function FindBox({ view, onView, onStep, hits }: LogToolbarProps): JSX.Element {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    onStep(event.shiftKey ? -1 : 1);
  };
  return (
    <search class="find">
      <input
        type="search"
        class="search"
        placeholder="Find in the log"
        aria-label="Find in the log; Enter goes to the next hit, Shift and Enter to the one before"
        value={view.search}
        onInput={({ currentTarget }) => onView({ ...view, search: currentTarget.value })}
        onKeyDown={onKey}
      />
      <span class="hit-count">{view.search === "" ? "" : `${hits.toLocaleString("en")}`}</span>
      <button
        type="button"
        class="icon-button"
        aria-label="Hit before"
        disabled={view.search === ""}
        onClick={() => onStep(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label="Next hit"
        disabled={view.search === ""}
        onClick={() => onStep(1)}
      >
        <Icon name="down" />
      </button>
      <button
        type="button"
        class="chip"
        aria-pressed={view.isFiltered}
        disabled={view.search === ""}
        onClick={() => onView({ ...view, isFiltered: !view.isFiltered })}
      >
        Only hits
      </button>
    </search>
  );
}
