/** The files of the store and their names. */
import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isNotFound } from "../base/errors.ts";

/**
 * A segment's number is the time of its creation in milliseconds since 1970, or one more than that of its predecessor,
 * so the order of numbers is the order of creation whatever the clock does. The stages of a segment: being written,
 * closed, compressed, and only procman's own entries left. These are written to a file of that name as well, which
 * stays when the others are deleted.
 */
export const STAGES = ["open", "log", "log.gz", "own"] as const;

/** Offsets in a file of procman's own entries begin here: a cursor in the whole segment is before all of them. */
export const OWN_BASE = 2 ** 40;

export type Stage = (typeof STAGES)[number];

export type SegmentFile = { readonly number: number; readonly stage: Stage };

export function logsFolder(stateDir: string): string {
  return join(stateDir, "logs");
}

export function segmentFile(folder: string, { number, stage }: SegmentFile): string {
  return join(folder, `${number}.${stage}`);
}

/** File of a compression in progress by `owner`. */
export function unfinishedFile(folder: string, number: number, owner: string): string {
  return `${segmentFile(folder, { number, stage: "log.gz" })}.${owner}.tmp`;
}

/** Files of all compressions of a segment that are in progress or were interrupted, with their indexes. */
export function unfinishedFiles(folder: string, number: number): readonly string[] {
  const names = namesIn(folder).filter((name) => name.startsWith(`${number}.log.gz.`) && /\.tmp(\.index)?$/.test(name));
  return names.map((name) => join(folder, name));
}

export function indexFile(folder: string, number: number): string {
  return join(folder, `${number}.index`);
}

/** Oldest first. A segment with files of two stages, while it is compressed, counts as the earlier stage. */
export function segmentsIn(folder: string): readonly SegmentFile[] {
  const stages = new Map<number, Stage>();
  for (const name of namesIn(folder)) {
    const match = /^(\d{1,15})\.(open|log|log\.gz|own)$/.exec(name);
    if (match === null) continue;
    const number = Number(match[1]);
    const stage = match[2] as Stage;
    const other = stages.get(number);
    if (other === undefined || STAGES.indexOf(stage) < STAGES.indexOf(other)) stages.set(number, stage);
  }
  return [...stages].map(([number, stage]) => ({ number, stage })).sort((one, two) => one.number - two.number);
}

/** Names of all files; empty if the folder doesn't exist. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}

export function close(folder: string, number: number): void {
  renameSync(segmentFile(folder, { number, stage: "open" }), segmentFile(folder, { number, stage: "log" }));
}

/** Size of a segment on disk with its index, and time of its last write. */
export function sizeOf(folder: string, segment: SegmentFile): { readonly bytes: number; readonly written: number } {
  const [data, index] = [segmentFile(folder, segment), indexFile(folder, segment.number)].map((file) =>
    statSync(file, { throwIfNoEntry: false }),
  );
  return { bytes: (data?.size ?? 0) + (index?.size ?? 0), written: data?.mtimeMs ?? 0 };
}

/** Size of the file of procman's own entries; 0: there is none. */
export function ownSizeOf(folder: string, number: number): number {
  return statSync(segmentFile(folder, { number, stage: "own" }), { throwIfNoEntry: false })?.size ?? 0;
}

/** Deletes a segment up to procman's own entries. */
export function removeOutput(folder: string, number: number): void {
  for (const stage of STAGES) if (stage !== "own") rmSync(segmentFile(folder, { number, stage }), { force: true });
  for (const file of [indexFile(folder, number), ...unfinishedFiles(folder, number)]) rmSync(file, { force: true });
}

export function remove(folder: string, number: number): void {
  removeOutput(folder, number);
  rmSync(segmentFile(folder, { number, stage: "own" }), { force: true });
}
