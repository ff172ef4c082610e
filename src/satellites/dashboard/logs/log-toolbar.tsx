/** The controls of the log page. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { hostTime } from "../../../core/base/time-stamp.ts";
import { SEVERITIES, type Severity } from "../../../core/contract/records.ts";
import type { LogPager } from "../model/log-pager.ts";
import { useApp, useObserved } from "../parts/app-context.ts";
import { Icon, type IconName } from "../parts/icons.tsx";
import { Picker } from "../parts/picker.tsx";
import type { LogPageView } from "./log-filter.ts";
import { typedTime } from "./typed-time.ts";

export type LogToolbarProps = {
  readonly view: LogPageView;
  readonly onView: (view: LogPageView) => void;
  readonly pager: LogPager;
  /** Shows the end, and follows it. */
  readonly onEnd: () => void;
  readonly isWrapped: boolean;
  readonly onWrap: (isWrapped: boolean) => void;
  readonly onStep: (step: 1 | -1) => void;
  /** Number of lines with hits among the loaded ones. */
  readonly hits: number;
  readonly onCopy: () => void;
  readonly onDownload: () => void;
};

export function LogToolbar(props: LogToolbarProps): JSX.Element {
  const { view, onView, pager, onEnd, isWrapped, onWrap, onCopy, onDownload } = props;
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
              {severity === "error" ? "" : " and above"}
            </option>
          ))}
        </select>
      </label>
      <TimePicker view={view} onView={onView} />
      <FollowState pager={pager} onEnd={onEnd} />
      <FindBox {...props} />
      <span class="tools">
        <ToolButton icon="wrap" name="Wrap long lines" isPressed={isWrapped} onClick={() => onWrap(!isWrapped)} />
        <ToolButton icon="copy" name="Copy the loaded lines" onClick={onCopy} />
        <ToolButton icon="download" name="Download all matching lines" onClick={onDownload} />
      </span>
    </div>
  );
}

type ToolButtonProps = {
  readonly icon: IconName;
  readonly name: string;
  readonly isPressed?: boolean;
  readonly onClick: () => void;
};

function ToolButton({ icon, name, isPressed, onClick }: ToolButtonProps): JSX.Element {
  return (
    <button type="button" class="icon-button" aria-pressed={isPressed} aria-label={name} title={name} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

/** Whether new lines appear by themselves; the button shows them again. */
function FollowState({ pager, onEnd }: Pick<LogToolbarProps, "pager" | "onEnd">): JSX.Element {
  const { isFollowing, isLoading } = useObserved(pager.state);
  const isPinned = useObserved(pager.pinned);
  const isLive = isFollowing && isPinned;
  return (
    <span class="inline">
      <span class={isLive || isLoading ? "follow-state" : "follow-state paused"} role="status">
        {isLoading ? "Loading" : isLive ? "Following" : "Paused"}
      </span>
      {!isLive && !isLoading && (
        <button type="button" class="chip" aria-label="Show the newest lines" onClick={onEnd}>
          Newest
        </button>
      )}
    </span>
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
    <Picker summary={summary}>
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
    </Picker>
  );
}

/** In the time zone of the browser, by a clock of 24 hours whatever the browser's language is. */
function TimePicker({ view, onView }: ViewProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const submit = (event: Event): void => {
    event.preventDefault();
    const text = input.current?.value.trim() ?? "";
    const time = typedTime(text, Date.now());
    setProblem(
      text === "" || time !== undefined ? undefined : `Write 14:03, 14:03:27 or 2026-11-27 14:03, not "${text}".`,
    );
    if (text === "" || time !== undefined) onView({ ...view, at: time });
  };
  const shown = view.at === undefined ? "" : hostTime(view.at).slice(0, 19).replace("T", " ");
  return (
    <Picker summary={view.at === undefined ? "Time" : shown.slice(5)}>
      <form class="panel" onSubmit={submit}>
        <label class="field">
          Time to jump to
          <input ref={input} key={shown} type="text" placeholder="14:03 or 2026-11-27 14:03" defaultValue={shown} />
        </label>
        {problem !== undefined && <p class="problem">{problem}</p>}
        <button type="submit">Jump</button>
      </form>
    </Picker>
  );
}

function FindBox({ view, onView, onStep, hits }: LogToolbarProps): JSX.Element {
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    onStep(event.shiftKey ? -1 : 1);
  };
  const isOff = view.search === "";
  return (
    <search class="find">
      <input
        type="search"
        class="search"
        placeholder="Find in the log"
        aria-label="Find in the log; Enter goes to the next match, Shift+Enter to the previous one"
        value={view.search}
        onInput={({ currentTarget }) => onView({ ...view, search: currentTarget.value })}
        onKeyDown={onKey}
      />
      {!isOff && (
        <>
          <span class="hit-count">{hits.toLocaleString("en")}</span>
          <ToolButton icon="up" name="Previous match" onClick={() => onStep(-1)} />
          <ToolButton icon="down" name="Next match" onClick={() => onStep(1)} />
          <button
            type="button"
            class="chip"
            aria-pressed={view.isFiltered}
            onClick={() => onView({ ...view, isFiltered: !view.isFiltered })}
          >
            Only matches
          </button>
        </>
      )}
    </search>
  );
}
