/**
 * The part of the log that is in memory: neighbouring pages, each with the cursors at its ends, so that what is dropped
 * at one end can be read again. Pure.
 */
import type { LogEntry } from "../../../core/contract/records.ts";

/** Lines that are kept; beyond, whole pages are dropped at the other end. */
export const WINDOW_LINES = 100_000;
/** Lines of a page that followed lines are put together to. */
const PAGE_LINES = 1_000;

/** `key`: of the same line always the same, and larger for later lines. */
export type WindowLine = { readonly key: number; readonly entry: LogEntry };

/** `start`, `end`: cursors; undefined: nothing is known beyond. */
export type WindowPage = {
  readonly lines: readonly WindowLine[];
  readonly start: string | undefined;
  readonly end: string | undefined;
};

export type LogWindow = {
  readonly pages: readonly WindowPage[];
  readonly size: number;
  /** Whether there are older lines than the first one. */
  readonly hasOlder: boolean;
  /** Keys of the next lines at either end. */
  readonly firstKey: number;
  readonly nextKey: number;
};

export const EMPTY_WINDOW: LogWindow = { pages: [], size: 0, hasOlder: false, firstKey: -1, nextKey: 0 };

export type NewLines = {
  readonly entries: readonly LogEntry[];
  readonly start?: string | undefined;
  readonly end?: string | undefined;
};

/** With these later lines at the end. Returns how many were dropped at the beginning, too. */
export function appended(
  window: LogWindow,
  { entries, start, end }: NewLines,
  limit = WINDOW_LINES,
): { window: LogWindow; dropped: number } {
  const lines = entries.map((entry, index) => ({ key: window.nextKey + index, entry }));
  const last = window.pages.at(-1);
  const isJoined = last !== undefined && last.lines.length + lines.length <= PAGE_LINES;
  const page: WindowPage = isJoined
    ? { lines: [...last.lines, ...lines], start: last.start, end }
    : { lines, start: last === undefined ? start : last.end, end };
  const pages = [...(isJoined ? window.pages.slice(0, -1) : window.pages), page];
  return droppedFirst(
    { ...window, pages, size: window.size + lines.length, nextKey: window.nextKey + lines.length },
    limit,
  );
}

function droppedFirst(window: LogWindow, limit: number): { window: LogWindow; dropped: number } {
  let from = 0;
  let dropped = 0;
  while (window.size - dropped > limit && from < window.pages.length - 1) {
    dropped += window.pages[from]?.lines.length ?? 0;
    from += 1;
  }
  if (dropped === 0) return { window, dropped };
  return {
    window: { ...window, pages: window.pages.slice(from), size: window.size - dropped, hasOlder: true },
    dropped,
  };
}

/** With these earlier lines (oldest first) at the beginning. `start` undefined: there are no earlier ones. */
export function prepended(window: LogWindow, { entries, start }: NewLines, limit = WINDOW_LINES): LogWindow {
  const firstKey = window.firstKey - entries.length;
  const lines = entries.map((entry, index) => ({ key: firstKey + 1 + index, entry }));
  const pages = [{ lines, start, end: window.pages[0]?.start }, ...window.pages];
  let size = window.size + lines.length;
  while (size > limit && pages.length > 1) size -= pages.pop()?.lines.length ?? 0;
  return { ...window, pages, size, firstKey, hasOlder: start !== undefined };
}

/** Where to read older lines: before this cursor. */
export function olderCursor({ pages }: LogWindow): string | undefined {
  return pages[0]?.start;
}

/** Where to read newer lines: after this cursor. */
export function newerCursor({ pages }: LogWindow): string | undefined {
  return pages.at(-1)?.end;
}

export function linesOf({ pages }: LogWindow): readonly WindowLine[] {
  return pages.length === 1 ? (pages[0] as WindowPage).lines : pages.flatMap(({ lines }) => lines);
}
