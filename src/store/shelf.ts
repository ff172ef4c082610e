/** The files of the store: which segments there are, and what they are called. */
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNotThere } from "../base/errors.ts";

/**
 * A segment's number is the time of its beginning in milliseconds since 1970, or one more than that of the one before it:
 * by number is by age, whatever the clock does. In the order of their lives: being written, closed, compressed.
 */
export const STAGES = ["open", "log", "log.gz"] as const;

export type Stage = (typeof STAGES)[number];

export type Segment = { readonly number: number; readonly stage: Stage };

export function logsFolder(stateDir: string): string {
  return join(stateDir, "logs");
}

export function segmentFile(folder: string, { number, stage }: Segment): string {
  return join(folder, `${number}.${stage}`);
}

/** A compression under way. */
export function unfinishedFile(folder: string, number: number): string {
  return `${segmentFile(folder, { number, stage: "log.gz" })}.tmp`;
}

export function indexFile(folder: string, number: number): string {
  return join(folder, `${number}.index`);
}

/** Oldest first. One that is there twice while it is compressed counts as what it was. */
export function segmentsIn(folder: string): readonly Segment[] {
  const stages = new Map<number, Stage>();
  for (const name of namesIn(folder)) {
    const match = /^(\d{1,15})\.(open|log|log\.gz)$/.exec(name);
    if (match === null) continue;
    const [number, stage] = [Number(match[1]), match[2] as Stage];
    const other = stages.get(number);
    if (other === undefined || STAGES.indexOf(stage) < STAGES.indexOf(other)) stages.set(number, stage);
  }
  return [...stages].map(([number, stage]) => ({ number, stage })).sort((one, two) => one.number - two.number);
}

/** Of all that is in the folder; a folder that is not there is empty. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isNotThere(error)) return [];
    throw error;
  }
}

export function close(folder: string, number: number): void {
  renameSync(segmentFile(folder, { number, stage: "open" }), segmentFile(folder, { number, stage: "log" }));
}

/** What a segment takes on the disk, its index included, and when it was last written to. */
export function weigh(folder: string, segment: Segment): { readonly bytes: number; readonly written: number } {
  const [data, index] = [segmentFile(folder, segment), indexFile(folder, segment.number)].map((file) =>
    statSync(file, { throwIfNoEntry: false }),
  );
  return { bytes: (data?.size ?? 0) + (index?.size ?? 0), written: data?.mtimeMs ?? 0 };
}

export function remove(folder: string, number: number): void {
  for (const stage of STAGES) rmSync(segmentFile(folder, { number, stage }), { force: true });
  for (const file of [indexFile(folder, number), unfinishedFile(folder, number)]) rmSync(file, { force: true });
}
