/** How long segments are kept, and how much they may take together. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { StoreSettings } from "../contract/logger-protocol.ts";
import { namesIn, remove, segmentsIn, weigh } from "./shelf.ts";

const HOUR_MS = 3_600_000;
/** An index without a segment is left alone for so long: one may be in the making. */
const ORPHAN_MS = 600_000;

/** Removes what is too old, and of the rest the oldest as long as it is too much; never a segment that is being written. */
export function retire(folder: string, { hours, bytes }: StoreSettings, now: number): void {
  const oldest = now - hours * HOUR_MS;
  let sum = 0;
  for (const segment of segmentsIn(folder).toReversed()) {
    const weight = weigh(folder, segment);
    sum += weight.bytes;
    if (segment.stage !== "open" && (sum > bytes || weight.written < oldest || hours === 0)) remove(folder, segment.number);
  }
  removeOrphans(folder, now);
}

/** What is left of segments that somebody removed by hand. */
function removeOrphans(folder: string, now: number): void {
  const numbers = new Set(segmentsIn(folder).map(({ number }) => number));
  for (const name of namesIn(folder)) {
    const number = Number(/^(\d{1,15})\.index$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(number) || numbers.has(number)) continue;
    const { mtimeMs } = statSync(join(folder, name), { throwIfNoEntry: false }) ?? { mtimeMs: now };
    if (now - mtimeMs > ORPHAN_MS) remove(folder, number);
  }
}
