/** The numbers of instances that were asked for at run time, as a later service must know them. */
import { count, either, literal, mapOf, record, text } from "../base/shape.ts";

/** No process has an id like this. */
export const SCALES = ":scale";

/** `of`: the file's own number, and as long as it is that, `to` counts. */
export type Scaled = { readonly to: number; readonly of: number | "max" };

/** By cluster. */
export type Scales = ReadonlyMap<string, Scaled>;

export function writeScales(scales: Scales, lineage: string): string {
  return JSON.stringify({ scales: Object.fromEntries(scales), lineage });
}

/** Notes may be lost, torn or strange. Who runs procman anew wants what the file says. */
export function readScales(note: string | undefined, lineage: string): Scales {
  try {
    const known: unknown = JSON.parse(note ?? "{}");
    if (!isNote(known)) return new Map();
    const { scales, lineage: own } = known as { readonly scales: Readonly<Record<string, Scaled>>; readonly lineage: string };
    return new Map(own === lineage ? Object.entries(scales) : []);
  } catch {
    return new Map();
  }
}

const isNote = record({ scales: mapOf(record({ to: count, of: either(count, literal("max")) })), lineage: text });
