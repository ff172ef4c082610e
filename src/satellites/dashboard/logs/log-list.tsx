/** The lines in view of a long list: everything else is only room. */
import type { JSX, RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogPager } from "../model/log-pager.ts";
import { linesOf, type WindowLine } from "../model/log-window.ts";
import { RowHeights, wrappedRows } from "../model/row-heights.ts";
import { useObserved } from "../parts/app-context.ts";
import { isFoldable, jsonLines, OPEN_CHARACTERS, SHOWN_CHARACTERS } from "../parts/line-pieces.ts";
import { LogLine } from "../parts/log-line.tsx";

/** Heights of a row, of one with a button, and width of a character, as in the style sheet. Pixels. */
const ROW = 20;
const BUTTON_ROW = 24;
const CHARACTER = 7.22;
/** Width of everything before the text. Pixels. */
const BEFORE_TEXT = 262;
/** So narrow, a wrapped text begins below its time and process. Pixels. */
const NARROW = 560;
const BEFORE_NARROW_TEXT = 44;
/** Rows beyond the view. */
const MARGIN = 20;
/** Distance of a time that was jumped to from the upper edge. Pixels. */
const JUMP_OFFSET = 120;
/** Heights of wrapped lines are estimates: at the end, the last line is where the end is. */
const AT_END = { top: "auto", bottom: "0" } as const;
/** So near to an end, more is loaded. Pixels. */
const NEAR = 1_500;

type LogListProps = {
  readonly pager: LogPager;
  readonly search: string;
  readonly isWrapped: boolean;
  /** Key of the line with the hit that was stepped to. */
  readonly current: number | undefined;
  /** Gets the function that scrolls to a line. */
  readonly control: RefObject<LogListControl | null>;
  /** Whether the list begins at a time instead of the end. */
  readonly startsAtTime: boolean;
  /** Whether a filter leaves lines out. */
  readonly isFiltered: boolean;
  /** Shows the end, which isn't loaded. */
  readonly onEnd: () => void;
};

export type LogListControl = {
  readonly scrollTo: (key: number) => void;
  readonly scrollToEnd: () => void;
  readonly firstVisible: () => number;
};

/** `top`, `height`: of the view. `anchor`: the first line in view, and how far it is scrolled out. */
type ListView = { readonly top: number; readonly height: number; readonly width: number };

export function LogList({
  pager,
  search,
  isWrapped,
  current,
  control,
  startsAtTime,
  isFiltered,
  onEnd,
}: LogListProps): JSX.Element {
  const window = useObserved(pager.window);
  const { isLoading } = useObserved(pager.state);
  const lines = useMemo(() => linesOf(window), [window]);
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [view, setView] = useState<ListView>({ top: 0, height: 800, width: 1_000 });
  const place = useRef<HTMLElement>(null);
  const isNarrow = isWrapped && view.width <= NARROW;
  const heights = useMemo(
    () => heightsOf(lines, { open, isNarrow, columns: isWrapped ? columnsIn(view.width) : Infinity }),
    [lines, open, isWrapped, isNarrow, view.width],
  );
  const { pinned, onScroll } = useScrolling({ pager, place, lines, heights, control, startsAtTime, onView: setView });
  const toggle = useCallback((key: number) => setOpen((before) => toggled(before, key)), []);
  const from = Math.max(0, heights.at(view.top) - MARGIN);
  const to = Math.min(lines.length, heights.at(view.top + view.height) + MARGIN);
  return (
    <section
      ref={place}
      class={`log-lines${isWrapped ? " wrapped" : ""}${isNarrow ? " narrow" : ""}`}
      onScroll={onScroll}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard (WCAG 2.1.1)
      tabIndex={0}
      aria-label="Lines of the log"
    >
      <div class="log-room" style={{ height: `${heights.total}px` }}>
        <div class="log-slice" style={to === lines.length ? AT_END : { top: `${heights.top(from)}px`, bottom: "auto" }}>
          {lines.slice(from, to).map(({ key, entry }) => (
            <LogLine
              key={key}
              lineKey={key}
              entry={entry}
              search={search}
              isOpen={open.has(key)}
              isCurrent={key === current}
              onToggle={toggle}
            />
          ))}
        </div>
      </div>
      {lines.length === 0 && (
        <p class="empty">{isLoading ? "Loading …" : isFiltered ? "No matches." : "No lines yet."}</p>
      )}
      <NewLines pager={pager} isPinned={pinned} lastKey={lines.at(-1)?.key ?? -1} onEnd={onEnd} />
    </section>
  );
}

function toggled(set: ReadonlySet<number>, key: number): ReadonlySet<number> {
  const next = new Set(set);
  if (!next.delete(key)) next.add(key);
  return next;
}

function columnsIn(width: number): number {
  const before = width <= NARROW ? BEFORE_NARROW_TEXT : BEFORE_TEXT;
  return Math.max(20, Math.floor((width - before) / CHARACTER));
}

type HeightsParts = { readonly open: ReadonlySet<number>; readonly columns: number; readonly isNarrow: boolean };

function heightsOf(lines: readonly WindowLine[], { open, columns, isNarrow }: HeightsParts): RowHeights {
  const rows = Float64Array.from(lines, ({ entry }) => (isFoldable(entry.text) ? BUTTON_ROW : ROW));
  const first = lines[0]?.key ?? 0;
  if (columns !== Infinity)
    lines.forEach(({ key, entry }, index) => {
      const more = wrappedRows(entry.text, columns, open.has(key) ? OPEN_CHARACTERS : SHOWN_CHARACTERS) - 1;
      rows[index] = (rows[index] ?? ROW) + ROW * (more + (isNarrow ? 1 : 0));
    });
  for (const key of open) {
    const json = jsonLines(lines[key - first]?.entry.text ?? "");
    if (json !== undefined) rows[key - first] = (rows[key - first] ?? ROW) + json.length * ROW;
  }
  return new RowHeights(rows);
}

type ScrollingParts = {
  readonly pager: LogPager;
  readonly place: RefObject<HTMLElement | null>;
  readonly lines: readonly WindowLine[];
  readonly heights: RowHeights;
  readonly control: RefObject<LogListControl | null>;
  readonly onView: (view: ListView) => void;
  readonly startsAtTime: boolean;
};

/** Keeps the end in view, or the line that the reader looks at, whatever is added or dropped. */
function useScrolling({ pager, place, lines, heights, control, onView, startsAtTime }: ScrollingParts): {
  readonly pinned: boolean;
  readonly onScroll: () => void;
} {
  const pinned = useObserved(pager.pinned);
  // Lines from the time that was jumped to have keys from 0.
  const anchor = useRef({ key: 0, offset: -JUMP_OFFSET, isPinned: !startsAtTime });
  const size = useSize(place, (element) => {
    if (anchor.current.isPinned) element.scrollTop = element.scrollHeight;
    onView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
  });
  const first = lines[0]?.key ?? 0;
  const onScroll = (): void => {
    const { current: element } = place;
    if (element === null || lines.length === 0) return;
    const { scrollTop: top, clientHeight: height, clientWidth: width, scrollHeight } = element;
    // The end is brought into view again: a scroll that came from the new size says nothing about the reader.
    if (anchor.current.isPinned && (height !== size.current.height || width !== size.current.width)) return;
    const isPinned = top + height >= scrollHeight - ROW && pager.state.value.isFollowing;
    const index = heights.at(top);
    anchor.current = { key: first + index, offset: top - heights.top(index), isPinned };
    pager.pinned.set(isPinned);
    onView({ top, height, width });
    if (top < NEAR) void pager.older();
    if (top + height > scrollHeight - NEAR) void pager.newer();
  };
  control.current = {
    scrollTo: (key) => {
      anchor.current = { key, offset: -Math.round((place.current?.clientHeight ?? 0) / 3), isPinned: false };
      if (place.current !== null) place.current.scrollTop = heights.top(key - first) + anchor.current.offset;
    },
    scrollToEnd: () => {
      anchor.current = { ...anchor.current, isPinned: true };
      if (place.current !== null) place.current.scrollTop = heights.total;
    },
    firstVisible: () => anchor.current.key,
  };
  useLayoutEffect(() => {
    const { current: element } = place;
    if (element === null) return;
    const { key, offset, isPinned } = anchor.current;
    element.scrollTop = isPinned ? heights.total : heights.top(key - first) + offset;
    onView({ top: element.scrollTop, height: element.clientHeight, width: element.clientWidth });
    // A page of few long lines leaves nothing to scroll, which would load more.
    if (lines.length > 0 && heights.total <= element.clientHeight) void pager.older();
  }, [place, heights, first, lines, pager, onView]);
  return { pinned, onScroll };
}

type ListSize = Pick<ListView, "height" | "width">;

/** The size of the element when `onChange` was called last: after each change of it. */
function useSize(
  place: RefObject<HTMLElement | null>,
  onChange: (element: HTMLElement) => void,
): { readonly current: ListSize } {
  const size = useRef<ListSize>({ height: 0, width: 0 });
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    const { current: element } = place;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      size.current = { height: element.clientHeight, width: element.clientWidth };
      change.current(element);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return size;
}

type NewLinesProps = {
  readonly pager: LogPager;
  readonly isPinned: boolean;
  readonly lastKey: number;
  readonly onEnd: () => void;
};

/** How many lines have come while the reader looks at earlier ones. */
function NewLines({ pager, isPinned, lastKey, onEnd }: NewLinesProps): JSX.Element | null {
  const { isFollowing, isLoading } = useObserved(pager.state);
  const seen = useRef(lastKey);
  if (isPinned) seen.current = lastKey;
  if (isPinned || isLoading) return null;
  const count = lastKey - seen.current;
  const text = !isFollowing
    ? "Jump to the end"
    : count === 0
      ? "Follow"
      : `${count.toLocaleString("en")} new ${count === 1 ? "line" : "lines"}`;
  return (
    <button type="button" class="pill" onClick={onEnd}>
      {text} ↓
    </button>
  );
}
