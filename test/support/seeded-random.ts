/** Random numbers from a seed (mulberry32). */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed | 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** A random key, by its weight. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const rows = Object.entries(weights) as [K, number][];
    let left = this.next() * rows.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of rows) {
      left -= weight;
      if (left < 0) return key;
    }
    return rows[rows.length - 1]?.[0] as K;
  }

  of<T>(values: readonly T[]): T {
    return values[Math.floor(this.next() * values.length)] as T;
  }
}
