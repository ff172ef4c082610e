/** Text as the terminal shows it: what a reader sees as one character, with its width in columns. */
import { printableLine } from "../../core/base/printable.ts";

/** `text`: one visible character, with the marks that belong to it. */
export type Cluster = { readonly text: string; readonly width: number };

const ASCII = /^[\x20-\x7e]*$/;
const TAB = 8;
/** Longer ones are not writing, but marks piled up. UTF-16 units. */
const LONGEST = 32;
/** Widths that are remembered. */
const REMEMBERED = 4_096;
const UNREADABLE: Cluster = { text: "\ufffd", width: 1 };
const BLANK: Cluster = { text: " ", width: 1 };

const ascii: readonly Cluster[] = Array.from({ length: 0x7f }, (_, code) => ({
  text: String.fromCharCode(code),
  width: 1,
}));
const known = new Map<string, Cluster | undefined>();
let segmenter: Intl.Segmenter | undefined;
let stringWidth: ((text: string) => number) | undefined;

/** For text beyond ASCII, which needs the tables of Unicode: after the first frame, as they take 20 ms. Before, each character takes one column. */
export async function loadWidths(): Promise<void> {
  stringWidth = (await import("string-width")).default;
  segmenter = new Intl.Segmenter();
}

/** Control characters are shown as `\x1b`, marks that turn the direction of text as `\u202e`, tabs as spaces; what has no width alone is left out. */
export function clustersOf(text: string): readonly Cluster[] {
  if (ASCII.test(text)) return Array.from(text, (character) => ascii[character.charCodeAt(0)] ?? BLANK);
  if (segmenter === undefined) return Array.from(printableLine(text), (character) => ({ text: character, width: 1 }));
  const clusters: Cluster[] = [];
  let column = 0;
  for (const { segment } of segmenter.segment(printableLine(text))) {
    const found = segment === "\t" ? { text: " ".repeat(TAB - (column % TAB)), width: 0 } : clusterOf(segment);
    if (found === undefined) continue;
    const all = found.width === 0 ? Array.from(found.text, () => BLANK) : [found];
    clusters.push(...all);
    for (const { width } of all) column += width;
  }
  return clusters;
}

/** undefined: it has no width. */
function clusterOf(segment: string): Cluster | undefined {
  if (segment.length > LONGEST) return UNREADABLE;
  if (!known.has(segment)) {
    if (known.size >= REMEMBERED) known.clear();
    const width = stringWidth?.(segment) ?? 1;
    known.set(segment, width === 0 ? undefined : { text: segment, width });
  }
  return known.get(segment);
}

/** Columns that the text takes. */
export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : clustersOf(text).reduce((sum, { width }) => sum + width, 0);
}

/** The same for a part of a text that begins in this column: a tab ends at the next eighth one. */
export function columnsOf(text: string, from: number): number {
  const before = text.includes("\t") ? from % TAB : 0;
  return widthOf(" ".repeat(before) + text) - before;
}

/** The text from this column on. A character that is cut in two becomes blanks. */
export function fromColumn(text: string, column: number): string {
  if (column === 0) return text;
  let at = 0;
  let rest = "";
  for (const cluster of clustersOf(text)) {
    if (at >= column) rest += cluster.text;
    else if (at + cluster.width > column) rest += " ".repeat(at + cluster.width - column);
    at += cluster.width;
  }
  return rest;
}

/** Lines of at most this many columns, broken between words where possible. */
export function wrappedTo(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  let width = 0;
  let gap = 0;
  for (const { text: shown, width: needed } of clustersOf(text)) {
    // What moves to the next line may be too long for it, too.
    while (width + needed > room && line !== "") {
      const end = gap > 0 && shown !== " " ? gap : line.length;
      lines.push(line.slice(0, end));
      line = line.slice(end).trimStart();
      width = widthOf(line);
      gap = 0;
    }
    if (shown === " " && line === "" && lines.length > 0) continue;
    line += shown;
    width += needed;
    if (shown === " ") gap = line.length;
  }
  return [...lines, line];
}
