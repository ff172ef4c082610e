/** The rotated files of a log file: their names, compression and total size. */
import { createReadStream, createWriteStream, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { Rotation } from "../ipc/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";

export type RotationEvents = {
  readonly problem: (file: string, code: string, message: string) => void;
  readonly works: (file: string) => void;
};

/** `20261121T100000000Z`: sorts by age, and is valid in shells and on Windows. */
function compact(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, "");
}

/** The time in the name of a rotated file. */
function timeOf(suffix: string): number {
  const iso = suffix.replace(/^\.(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)(\d{3})Z.*$/, "$1-$2-$3:$4:$5.$6Z");
  return Date.parse(iso);
}

/** Names in the folder, oldest first. */
function archived(path: string): string[] {
  const name = basename(path);
  return rotatedIn(dirname(path))
    .filter((file) => file.startsWith(name) && file.search(STAMPED) === name.length)
    .sort();
}

/** A name later than all others, even if the clock was set back or this millisecond already has a file. */
function nextName(path: string): string {
  const newest = archived(path).at(-1)?.slice(basename(path).length);
  const time = newest === undefined ? 0 : timeOf(newest) + 1;
  return `${path}.${compact(Math.max(time, Date.now()))}`;
}

function remove(file: string): void {
  rmSync(file, { force: true });
  clearListings();
}

export class LogRotation {
  rotation: Rotation | undefined;
  readonly #compressor: FileCompressor;
  readonly #events: RotationEvents;
  /** The path of the rotated file, with links resolved. */
  #path: string | undefined;
  /** Failed actions that have been reported. */
  readonly #reported = new Set<string>();

  constructor(compressor: FileCompressor, events: RotationEvents) {
    this.#compressor = compressor;
    this.#events = events;
  }

  /** Renames the file. False if that failed, which is reported. */
  rotate(path: string): boolean {
    return this.#try(path, "rotate", () => {
      renameSync(path, nextName(path));
      clearListings();
    });
  }

  /** Called for each opened file: deletes excess files, finishes what a crash left, and compresses in the background. */
  tidy(path: string): void {
    this.#path = path;
    this.#prune(path);
    if (this.rotation?.gzip) this.#compressor.add(this);
  }

  /** For the compressor: the next file to compress. Removes leftovers of an interrupted compression. */
  next(): string | undefined {
    const path = this.#path;
    if (path === undefined) return undefined;
    let plain: string | undefined;
    this.#try(path, "tidy", () => {
      const files = archived(path);
      for (const file of files.filter((each) => each.endsWith(".tmp"))) remove(join(dirname(path), file));
      plain = files.find((file) => file.endsWith("Z"));
    });
    return plain === undefined ? undefined : join(dirname(path), plain);
  }

  /** For the compressor: the result of a compression. */
  compressed(error?: unknown): void {
    const path = this.#path;
    if (path === undefined) return;
    clearListings();
    this.#try(path, "compress", () => {
      if (error !== undefined) throw error;
    });
    this.#prune(path);
  }

  #prune(path: string): void {
    const total = this.rotation?.totalBytes ?? Number.POSITIVE_INFINITY;
    this.#try(path, "prune", () => {
      let sum = 0;
      for (const file of archived(path).reverse()) {
        const full = join(dirname(path), file);
        sum += statSync(full, { throwIfNoEntry: false })?.size ?? 0;
        if (sum > total && !file.endsWith(".tmp")) remove(full);
      }
    });
  }

  /** Reports a failure once, until the same action succeeds again. */
  #try(path: string, what: string, act: () => void): boolean {
    const file = `${path}.*`;
    try {
      act();
    } catch (error) {
      if (!this.#reported.has(what)) this.#events.problem(file, errnoOf(error), `Cannot ${what} ${path}: ${reasonOf(error)}`);
      this.#reported.add(what);
      return false;
    }
    if (this.#reported.delete(what) && this.#reported.size === 0) this.#events.works(file);
    return true;
  }
}

/** The end of a rotated file's name: the time of rotation, then the suffix of the compression. */
const STAMPED = /\.\d{8}T\d{9}Z(\.gz(\.tmp)?)?$/;

const known = new Map<string, readonly string[]>();

function rotatedIn(folder: string): readonly string[] {
  const names = known.get(folder) ?? readdirSync(folder).filter((name) => STAMPED.test(name));
  if (known.size === 0) setImmediate(clearListings);
  known.set(folder, names);
  return names;
}

/** A file was renamed or removed. */
function clearListings(): void {
  known.clear();
}

/** The rotated files of one log, to be compressed. */
export type CompressionJob = {
  /** The next file to compress. */
  readonly next: () => string | undefined;
  /** The result of a compression. */
  readonly compressed: (error?: unknown) => void;
};

/** Atomic: the name `.gz` appears when the file is complete. */
async function compress(file: string, signal: AbortSignal): Promise<void> {
  // Imported on first use: a logger that never rotates saves their memory.
  const [{ createGzip }, { pipeline }] = await Promise.all([import("node:zlib"), import("node:stream/promises")]);
  const unfinished = `${file}.gz.tmp`;
  try {
    await pipeline(createReadStream(file), createGzip(), createWriteStream(unfinished, { mode: 0o640 }), { signal });
    failpoint("logger.compressing");
    renameSync(unfinished, `${file}.gz`);
    failpoint("logger.compressed");
    rmSync(file, { force: true });
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

export class FileCompressor {
  readonly #waiting = new Set<CompressionJob>();
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  add(archive: CompressionJob): void {
    this.#waiting.add(archive);
    this.#running ??= this.#run();
  }

  /** Waits at most `ms` for the current compression, then cancels it; the plain file is compressed later. */
  async stop(ms: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), ms);
    await this.#running;
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    for (const archive of this.#waiting) {
      this.#waiting.delete(archive);
      await this.#compressAll(archive);
    }
    this.#running = undefined;
  }

  async #compressAll(archive: CompressionJob): Promise<void> {
    for (let file = archive.next(); file !== undefined && !this.#abort.signal.aborted; file = archive.next()) {
      try {
        await compress(file, this.#abort.signal);
        archive.compressed();
      } catch (error) {
        if (!this.#abort.signal.aborted) archive.compressed(error);
        return;
      }
    }
  }
}
