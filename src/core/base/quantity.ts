/** Durations and sizes as people read them. */

/** How long something has lasted so far, in whole units. @example age(90_000) // "1 min" */
export function age(ms: number): string {
  const [seconds, minutes, hours] = [ms / 1_000, ms / 60_000, ms / 3_600_000].map(Math.floor) as [
    number,
    number,
    number,
  ];
  if (minutes < 1) return `${Math.max(0, seconds)} s`;
  if (hours < 1) return `${minutes} min`;
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** A duration that has ended. @example duration(1_640) // "1.6 s" */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Number((ms / 1_000).toFixed(1))} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size with up to three digits. @example size(48_123_904) // "48.1 MB" */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 999.5 && unit < UNITS.length - 1; unit += 1) value /= 1_000;
  return `${value < 99.95 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
