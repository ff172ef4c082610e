/** Durations and sizes of compose. */

const UNITS: Readonly<Record<string, number>> = { us: 1e-6, ms: 0.001, s: 1, m: 60, h: 3_600 };

/** Seconds of `1m30s`; undefined for anything else. */
export function secondsIn(given: unknown): number | undefined {
  if (typeof given === "number") return given;
  if (typeof given !== "string" || !/^(\d+(\.\d+)?(us|ms|s|m|h))+$/.test(given)) return undefined;
  const seconds = [...given.matchAll(/(\d+(?:\.\d+)?)(us|ms|s|m|h)/gy)].reduce(
    (sum, [, number, unit = "s"]) => sum + Number(number) * (UNITS[unit] ?? 0),
    0,
  );
  return Math.round(seconds * 1_000) / 1_000;
}

/** A size of procman: compose counts in powers of 1024. */
export function bytesIn(given: unknown): number | string | undefined {
  if (typeof given === "number") return given;
  const [, number = "", unit = ""] =
    typeof given === "string" ? (/^(\d+(?:\.\d+)?)\s*([bkmg])?b?$/i.exec(given) ?? []) : [];
  if (number === "") return undefined;
  const unitName = { k: "KiB", m: "MiB", g: "GiB" }[unit.toLowerCase()];
  return unitName === undefined ? Math.round(Number(number)) : `${number}${unitName}`;
}
