/** The text between two elements of an array: commas, comments, line ends, and to which element the comments belong. */

export type Token = {
  readonly kind: "comment" | "comma" | "eol" | "space";
  readonly start: number;
  readonly end: number;
};

const TOKEN = /(\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$))|(,)|(\r\n|\r|\n)|[^\S\r\n]+/g;

export type Separators = {
  readonly tokens: readonly Token[];
  readonly comma: Token | undefined;
  /** End of the previous element with its comments. */
  readonly tail: number;
  /** Start of the next element with its comments. */
  readonly lead: number;
};

/** The separators from `start` to `end` of the source; `last`: no element follows. */
export function separatorsOf(
  source: string,
  range: { readonly start: number; readonly end: number; readonly last: boolean },
): Separators {
  const { start, end, last } = range;
  const tokens = [...source.slice(start, end).matchAll(TOKEN)].map(
    ({ index, 0: text, 1: comment, 2: comma, 3: eol }) => {
      const from = start + index;
      const kind =
        comment !== undefined ? "comment" : comma !== undefined ? "comma" : eol !== undefined ? "eol" : "space";
      return { kind, start: from, end: from + text.length } as const;
    },
  );
  const comma = tokens.find(({ kind }) => kind === "comma");
  const tail = tailOf(tokens, start, last);
  // Comments on the line of the comma never belong to the next element.
  const floor = comma === undefined ? tail : tailOf(tokens.slice(tokens.indexOf(comma) + 1), comma.end, last);
  return { tokens, comma, tail, lead: last ? end : leadOf(tokens, floor, end) };
}

/** End of the comments on the element's line; those after the comma count only if nothing else follows on that line. */
function tailOf(tokens: readonly Token[], start: number, last: boolean): number {
  const eol = tokens.findIndex(({ kind }) => kind === "eol");
  const line = eol === -1 ? tokens : tokens.slice(0, eol);
  const alone = eol !== -1 || last;
  const commaAt = line.findIndex(({ kind }) => kind === "comma");
  const own = alone ? line : line.slice(0, commaAt + 1);
  return own.findLast(({ kind }) => kind === "comment" || kind === "comma")?.end ?? start;
}

/** Start of the comments before the element on its line and on the lines directly above; an empty line separates. */
function leadOf(tokens: readonly Token[], after: number, end: number): number {
  let lead = end;
  let eols = 0;
  for (const token of tokens.toReversed()) {
    if (token.start < after || eols > 1) break;
    if (token.kind === "eol") eols += 1;
    if (token.kind !== "comment") continue;
    lead = token.start;
    eols = 0;
  }
  return lead;
}
