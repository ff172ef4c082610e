/** "Did you mean": finds the candidate nearest to a misspelled word. */

/** Longer words are cut: the cost of a comparison is the product of both lengths. */
const LONGEST = 64;

/** The nearest candidate, or undefined if none is near enough. */
export function suggest(written: string, candidates: Iterable<string>): string | undefined {
  const word = written.slice(0, LONGEST).toLowerCase();
  if (word === "") return undefined;
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    // Each character more or less is an edit.
    if (Math.abs(Math.min(candidate.length, LONGEST) - word.length) >= least) continue;
    const edits = distance(word, candidate.slice(0, LONGEST).toLowerCase());
    if (edits < least) {
      best = candidate;
      least = edits;
    }
  }
  return best;
}

/** The suggestion as the end of a message: ` Did you mean "restart"?`, or an empty text. */
export function didYouMean(written: string, candidates: Iterable<string>): string {
  const near = suggest(written, candidates);
  return near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
}

/** Optimal string alignment distance: an insertion, deletion, replacement or swap of neighbours counts one. */
function distance(a: string, b: string): number {
  let before = new Uint8Array(b.length + 1);
  let above = Uint8Array.from({ length: b.length + 1 }, (_, column) => column);
  let line = new Uint8Array(b.length + 1);
  for (let row = 1; row <= a.length; row++) {
    line[0] = row;
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(above, column - 1) + (a.charCodeAt(row - 1) === b.charCodeAt(column - 1) ? 0 : 1);
      const swapped =
        row > 1 &&
        column > 1 &&
        a.charCodeAt(row - 1) === b.charCodeAt(column - 2) &&
        a.charCodeAt(row - 2) === b.charCodeAt(column - 1);
      const least = Math.min(at(line, column - 1) + 1, at(above, column) + 1, replaced);
      line[column] = swapped ? Math.min(least, at(before, column - 2) + 1) : least;
    }
    [before, above, line] = [above, line, before];
  }
  return at(above, b.length);
}

function at(row: Uint8Array, column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
