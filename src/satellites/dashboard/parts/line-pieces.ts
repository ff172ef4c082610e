/** Cuts the pieces of a line where hits begin and end. Pure. */
import { type StyledText, styled } from "./ansi.ts";
import { hitsIn } from "./log-search.ts";

/** Characters of a line that are shown until it is opened, and then. */
export const SHOWN_CHARACTERS = 2_000;
export const OPEN_CHARACTERS = 100_000;

export type LinePiece = StyledText & { readonly isHit: boolean };

/** `hidden`: number of characters that were cut off. */
export function piecesOf(
  text: string,
  search: string,
  limit: number,
): { readonly pieces: readonly LinePiece[]; readonly hidden: number } {
  const cut = text.length > limit ? text.slice(0, limit) : text;
  const parts = styled(cut);
  const hits = search === "" ? [] : hitsIn(parts.map((part) => part.text).join(""), search);
  const pieces: LinePiece[] = [];
  let at = 0;
  for (const part of parts) {
    const end = at + part.text.length;
    const inside = hits.filter(({ from, to }) => from < end && to > at);
    const cuts = [at, ...inside.flatMap(({ from, to }) => [Math.max(from, at), Math.min(to, end)]), end];
    for (let index = 0; index + 1 < cuts.length; index += 1) {
      const [from = at, to = end] = [cuts[index], cuts[index + 1]];
      if (to > from) pieces.push({ ...part, text: part.text.slice(from - at, to - at), isHit: index % 2 === 1 });
    }
    at = end;
  }
  return { pieces, hidden: text.length - cut.length };
}

/** Whether the row of a line has room for a button that opens it: without reading it as JSON, which it may only look like. */
export function isFoldable(text: string): boolean {
  return text.length > SHOWN_CHARACTERS || (text.startsWith("{") && text.trimEnd().endsWith("}"));
}

/** The lines of a JSON object, indented; undefined if the text is none. */
export function jsonLines(text: string): readonly string[] | undefined {
  if (!/^\s*\{.*\}\s*$/s.test(text) || text.length > OPEN_CHARACTERS) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2).split("\n");
  } catch {
    // It only looks like JSON.
    return undefined;
  }
}

/** A color of the palette of 256; the first 16 are in the style sheet. @example paletteColor(196) // "#ff0000" */
export function paletteColor(index: number): string {
  if (index >= 232) return `#${(8 + (index - 232) * 10).toString(16).padStart(2, "0").repeat(3)}`;
  const level = (value: number): string => (value === 0 ? 0 : 55 + value * 40).toString(16).padStart(2, "0");
  const cube = index - 16;
  return `#${level(Math.floor(cube / 36))}${level(Math.floor(cube / 6) % 6)}${level(cube % 6)}`;
}
