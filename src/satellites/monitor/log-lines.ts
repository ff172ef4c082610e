/** The log pane: new lines, scrolling, and stepping through the hits of a search. */
import { prettyLine } from "../../core/contract/pretty-line.ts";
import type { LogEntry, LogItem } from "../../core/contract/records.ts";
import { coloredText } from "./colored-text.ts";
import type { LogPane, ShownLine } from "./monitor-model.ts";

/** Lines that are kept for scrolling and searching. */
export const KEPT_LINES = 2_000;
/** Length of a shown line; the rest of a longer one is left out. UTF-16 units. */
const LONGEST_LINE = 10_000;
/** Whose lines those without a process are. */
export const OWN_ID = "procman";

export function withItems(log: LogPane, items: readonly LogItem[]): LogPane {
  const added = items.map((item, index) => lineOf(item, log.count + index + 1));
  const lines = [...log.lines, ...added].slice(-KEPT_LINES);
  // What is shown stays in place while lines come in below it.
  const below = log.below === 0 ? 0 : Math.min(log.below + added.length, lines.length - 1);
  return { ...log, lines, count: log.count + added.length, below };
}

function lineOf(item: LogItem, number: number): ShownLine {
  if (item.type === "gap") {
    const text = `${item.bytes} bytes are missing here: they were written faster than they were read`;
    return { number, time: "", process: OWN_ID, severity: "warn", isOutput: false, isError: false, text };
  }
  const { time, process = OWN_ID, severity, category, text }: LogEntry = item.entry;
  const isOutput = category === "stdout" || category === "stderr";
  const isError = category === "stderr";
  const pretty = isOutput ? prettyLine(text, severity, true) : undefined;
  const shown = coloredText((pretty ?? text).slice(0, LONGEST_LINE));
  return { number, time, process, severity, isOutput, isError, ...shown };
}

/** Scrolls by this many lines; below 0: to older ones. */
export function scrolled(log: LogPane, by: number, rows: number): LogPane {
  return { ...log, below: clamped(log.below - by, log, rows) };
}

function clamped(below: number, { lines }: LogPane, rows: number): number {
  return Math.max(0, Math.min(below, lines.length - rows));
}

/** Lines that are shown. */
export function shownLines({ lines, below }: LogPane, rows: number): readonly ShownLine[] {
  const end = lines.length - below;
  return lines.slice(Math.max(0, end - rows), end);
}

export function isHit({ text }: ShownLine, search: string): boolean {
  return search !== "" && text.toLowerCase().includes(search.toLowerCase());
}

/** The numbers of the lines that have the text. */
export function hitsOf({ lines, search }: LogPane): readonly number[] {
  return lines.filter((line) => isHit(line, search)).map(({ number }) => number);
}

/** Shows the next older hit (`by`: -1) or newer one (1); the newest, if none was shown yet. At the end it begins anew. */
export function steppedToHit(log: LogPane, by: -1 | 1, rows: number): LogPane {
  const hits = hitsOf(log);
  const at = log.hit === undefined ? -1 : hits.indexOf(log.hit);
  const next = at < 0 ? hits.at(-1) : hits.at((at + by) % hits.length);
  if (next === undefined) return without(log);
  const index = log.lines.findIndex(({ number }) => number === next);
  // In the middle, so that the lines around it are seen.
  const below = clamped(log.lines.length - 1 - index - Math.floor(rows / 2), log, rows);
  return { ...log, hit: next, below };
}

function without({ hit: _hit, ...log }: LogPane): LogPane {
  return log;
}

/** Another text to look for. */
export function searchedFor(log: LogPane, search: string): LogPane {
  return { ...without(log), search };
}
