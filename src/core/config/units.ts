/** Sizes and durations as they are written in a configuration. */

const SIZE = /^(\d+(?:\.\d+)?) ?(B|[kKMGT]B|[KMGT]iB)$/;
const POWER: Readonly<Record<string, number>> = { B: 0, K: 1, M: 2, G: 3, T: 4 };

/** Pattern of a size, for the schema: `500MB`, `1.5 GiB`. */
export const SIZE_PATTERN: RegExp = SIZE;

/** Pattern of a size above 0. */
export const AMOUNT_PATTERN: RegExp = new RegExp(`^(?=[0.]*[1-9])${SIZE.source.slice(1)}`);

/** Bytes of `500MB` (powers of 1000) or `500MiB` (powers of 1024), or of a number of bytes. */
export function parseSize(size: string | number): number {
  if (typeof size === "number") return size;
  const [, amount = "0", unit = "B"] = SIZE.exec(size) ?? [];
  const base = unit.includes("i") ? 1024 : 1000;
  return Math.floor(Number(amount) * base ** (POWER[unit.charAt(0).toUpperCase()] ?? 0));
}

/** Longest duration: a timer of Node can wait 24.8 days at most. */
export const MAX_MS = 24 * 24 * 3600 * 1000;
export const MAX_SECONDS = MAX_MS / 1000;
