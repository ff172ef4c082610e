/** Hits of a text in lines, ignoring case as the log store does. Pure. */

export type HitRange = { readonly from: number; readonly to: number };

/** Places of the text, not overlapping, at most `limit`. */
export function hitsIn(text: string, search: string, limit = 100): readonly HitRange[] {
  if (search === "") return [];
  const where = text.toLowerCase();
  const what = search.toLowerCase();
  const hits: HitRange[] = [];
  // A letter may have another length in lower case: such a line is marked nowhere rather than at a wrong place.
  if (where.length !== text.length) return hits;
  for (let at = where.indexOf(what); at >= 0 && hits.length < limit; at = where.indexOf(what, at + what.length))
    hits.push({ from: at, to: at + what.length });
  return hits;
}

/** The index of the next line with a hit, from `from` in this direction; undefined: there is none in these lines. */
export function nextHit(texts: readonly string[], search: string, from: number, step: 1 | -1): number | undefined {
  const what = search.toLowerCase();
  if (what === "") return undefined;
  for (let index = from + step; index >= 0 && index < texts.length; index += step)
    if (texts[index]?.toLowerCase().includes(what)) return index;
  return undefined;
}
