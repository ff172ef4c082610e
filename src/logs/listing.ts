/** The rotated files of a folder, read once for all logs there that ask in the same turn: a thousand may be opened together. */
import { readdirSync } from "node:fs";

/** The end of their names: the time of the rotation, then what the compression made of it. */
export const STAMPED = /\.\d{8}T\d{9}Z(\.gz(\.tmp)?)?$/;

const known = new Map<string, readonly string[]>();

export function rotatedIn(folder: string): readonly string[] {
  const names = known.get(folder) ?? readdirSync(folder).filter((name) => STAMPED.test(name));
  if (known.size === 0) setImmediate(forgetListings);
  known.set(folder, names);
  return names;
}

/** Something was renamed or removed. */
export function forgetListings(): void {
  known.clear();
}
