/** Points on disk, in `STATE/metrics/`: fine ones for an hour, one a minute for as long as logs are kept. */
import {
  appendFileSync,
  existsSync,
  promises,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../os/files.ts";
import type { DownsampledPoint } from "./downsample.ts";
import { blockOf, pointsIn, wholeBytes } from "./series-file.ts";

const HOUR_MS = 3_600_000;
/** Time span of a file, and how long its points are kept. */
const KINDS = {
  fine: { fileMs: HOUR_MS, keptMs: HOUR_MS },
  minute: { fileMs: 24 * HOUR_MS, keptMs: Number.POSITIVE_INFINITY },
} as const;

export type SeriesKind = keyof typeof KINDS;

/** Limit of all files together; the oldest are deleted first. */
const LIMIT_BYTES = 256 * 1_024 * 1_024;

type SeriesSegment = { readonly name: string; readonly kind: SeriesKind; readonly start: number; readonly end: number };

export type SeriesStoreOptions = {
  readonly stateDir: string;
  /** Retention of points, in hours. 0: none are stored. */
  readonly hours: () => number;
  readonly report: (problem: string) => void;
  readonly limitBytes?: number;
};

export class SeriesStore {
  readonly #folder: string;
  readonly #options: SeriesStoreOptions;
  /** The current file of each kind. */
  readonly #open = new Map<SeriesKind, string>();
  #hasFailed = false;

  constructor(options: SeriesStoreOptions) {
    this.#options = options;
    this.#folder = join(options.stateDir, "metrics");
  }

  append(kind: SeriesKind, at: number, points: ReadonlyMap<string, DownsampledPoint>): void {
    if (this.#options.hours() === 0) return this.#clear();
    try {
      this.#write(kind, at, points);
      this.#hasFailed = false;
    } catch (error) {
      // A partial block is cut off before the next one.
      this.#open.delete(kind);
      if (!this.#hasFailed)
        this.#options.report(
          `Cannot keep metrics in ${this.#folder}: ${(error as Error).message}; processes keep running`,
        );
      this.#hasFailed = true;
    }
  }

  #write(kind: SeriesKind, at: number, points: ReadonlyMap<string, DownsampledPoint>): void {
    const name = `${kind}-${Math.floor(at / KINDS[kind].fileMs)}.bin`;
    const path = join(this.#folder, name);
    if (this.#open.get(kind) !== name || !existsSync(path)) {
      makeFolder(this.#folder, 0o700);
      this.prune(at);
      mend(path);
    }
    appendFileSync(path, blockOf(at, points), { mode: 0o600 });
    this.#open.set(kind, name);
  }

  /** Points in order of time: one a minute, finer ones for the latest hour. */
  async read(
    ids: readonly string[],
    from: number,
    to: number,
    now: number,
  ): Promise<ReadonlyMap<string, readonly DownsampledPoint[]>> {
    const oldest = now - this.#options.hours() * HOUR_MS;
    const fineFrom = Math.max(oldest, Math.ceil((now - KINDS.fine.keptMs) / 60_000) * 60_000);
    const found = new Map<string, DownsampledPoint[]>(ids.map((id) => [id, []]));
    for (const segment of this.#segments().sort((one, other) => order(one) - order(other))) {
      const [first, end] =
        segment.kind === "fine" ? [Math.max(from, fineFrom), to] : [Math.max(from, oldest), Math.min(to, fineFrom)];
      if (segment.end <= first || segment.start >= end) continue;
      const points = pointsIn(await readOrEmpty(join(this.#folder, segment.name)), ids, first, end);
      for (const [id, list] of points) found.get(id)?.push(...list);
    }
    return found;
  }

  /** Deletes files that are too old or exceed the limit. */
  prune(now: number): void {
    const oldest = now - this.#options.hours() * HOUR_MS;
    let left = this.#options.limitBytes ?? LIMIT_BYTES;
    for (const { name, kind, end } of this.#segments().sort((one, other) => other.end - one.end)) {
      const path = join(this.#folder, name);
      left -= statSync(path, { throwIfNoEntry: false })?.size ?? 0;
      if (left < 0 || end <= oldest || end <= now - KINDS[kind].keptMs) rmSync(path, { force: true });
    }
  }

  #clear(): void {
    this.#open.clear();
    for (const { name } of this.#segments()) rmSync(join(this.#folder, name), { force: true });
  }

  #segments(): SeriesSegment[] {
    let names: readonly string[];
    try {
      names = readdirSync(this.#folder);
    } catch {
      return [];
    }
    return names.flatMap((name) => {
      const [, kind, number] = /^(fine|minute)-(\d{1,9})\.bin$/.exec(name) ?? [];
      if (kind === undefined) return [];
      const { fileMs } = KINDS[kind as SeriesKind];
      return [{ name, kind: kind as SeriesKind, start: Number(number) * fileMs, end: (Number(number) + 1) * fileMs }];
    });
  }
}

/** Files of minutes before files of fine points. */
function order({ kind, start }: SeriesSegment): number {
  return kind === "fine" ? start + 1e15 : start;
}

/** Cuts off a partial block that a killed service left. */
function mend(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return;
  const wholeSize = wholeBytes(readFileSync(path));
  if (wholeSize < size) truncateSync(path, wholeSize);
}

async function readOrEmpty(path: string): Promise<Buffer> {
  try {
    return await promises.readFile(path);
  } catch (error) {
    // The file was just deleted because of its age.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
