/** Positions of rows with different heights in a list, from estimates: where each begins, and which is at a position. Pure. */

export class RowHeights {
  /** Position of the beginning of each row, and of the end. */
  readonly #tops: Float64Array;

  constructor(heights: ArrayLike<number>) {
    this.#tops = new Float64Array(heights.length + 1);
    for (let index = 0; index < heights.length; index += 1)
      this.#tops[index + 1] = (this.#tops[index] ?? 0) + (heights[index] ?? 0);
  }

  get total(): number {
    return this.#tops.at(-1) ?? 0;
  }

  top(index: number): number {
    return this.#tops[Math.max(0, Math.min(index, this.#tops.length - 1))] ?? 0;
  }

  /** The row at this position; the nearest one for a position outside. */
  at(position: number): number {
    let low = 0;
    let high = Math.max(0, this.#tops.length - 2);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#tops[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Rows that a text of at most `limit` characters takes when it is wrapped after so many; wide characters take two places. */
export function wrappedRows(text: string, columns: number, limit = Infinity): number {
  const length = Math.min(text.length, limit);
  if (length * 2 <= columns) return 1;
  let places = 0;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    places += code === 9 ? 8 : code >= 0x1100 && code < 0xd800 ? 2 : 1;
  }
  return Math.max(1, Math.ceil(places / Math.max(1, columns)));
}
