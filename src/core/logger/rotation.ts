/** The rotated files of a log file: their names and total size. Two loggers may use one log file, as that of a killed keeper may go on. */
import { closeSync, lstatSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { Rotation } from "../ipc/logger-protocol.ts";
import { type FoundFile, walkTo } from "../os/path-walk.ts";
import { type FileCompressor, isCompressed, isLeftover, type RotatedFile } from "./file-compressor.ts";

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

/** Names in the folder of the log file, oldest first. */
function archived(log: FoundFile): string[] {
  return rotatedIn(log)
    .filter((file) => file.startsWith(log.name) && file.search(STAMPED) === log.name.length)
    .sort();
}

/** A name later than all others, even if the clock was set back or this millisecond already has a file. */
function nextName(log: FoundFile): string {
  const newest = archived(log).at(-1)?.slice(log.name.length);
  const time = newest === undefined ? 0 : timeOf(newest) + 1;
  return `${log.name}.${compact(Math.max(time, Date.now()))}`;
}

/** The empty file has its place until the log file replaces it: another logger can't choose the same name. */
function reserveName(log: FoundFile): string {
  for (;;) {
    const place = log.entry(nextName(log));
    try {
      closeSync(openSync(place, "wx", 0o600));
      return place;
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
      clearListings();
    }
  }
}

function remove(file: string): void {
  rmSync(file, { force: true });
  clearListings();
}

export class LogRotation {
  rotation: Rotation | undefined;
  readonly #compressor: FileCompressor;
  readonly #events: RotationEvents;
  /** The path of the log file. */
  #path: string | undefined;
  /** Failed actions that have been reported. */
  readonly #reported = new Set<string>();

  constructor(compressor: FileCompressor, events: RotationEvents) {
    this.#compressor = compressor;
    this.#events = events;
  }

  /** Renames the file. False if that failed, which is reported. */
  rotate(path: string): boolean {
    return this.#try(path, "rotate", (log) => {
      const place = reserveName(log);
      try {
        renameSync(log.entry(log.name), place);
      } catch (error) {
        rmSync(place, { force: true });
        // Another logger has renamed it.
        if (errnoOf(error) !== "ENOENT") throw error;
      } finally {
        clearListings();
      }
    });
  }

  /** Called for each opened file: deletes excess files, finishes what a crash left, and compresses in the background. */
  tidy(path: string): void {
    this.#path = path;
    this.#removeCompressed(path);
    this.#prune(path);
    if (this.rotation?.gzip) this.#compressor.add(this);
  }

  /** For the compressor: the next file to compress. Removes leftovers of an interrupted compression. */
  next(): RotatedFile | undefined {
    const path = this.#path;
    if (path === undefined) return undefined;
    let plain: string | undefined;
    this.#try(path, "tidy", (log) => {
      const files = archived(log);
      for (const file of files.filter(isLeftover)) remove(log.entry(file));
      plain = files.find(
        (file) => file.endsWith("Z") && lstatSync(log.entry(file), { throwIfNoEntry: false })?.isFile(),
      );
    });
    return plain === undefined ? undefined : { log: path, name: plain };
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

  /** Else the lines of a logger that was killed between compression and removal would be there twice. */
  #removeCompressed(path: string): void {
    this.#try(path, "tidy", (log) => {
      const files = archived(log);
      const names = new Set(files);
      for (const file of files) if (names.has(`${file}.gz`) && isCompressed(log, file)) remove(log.entry(file));
    });
  }

  #prune(path: string): void {
    const total = this.rotation?.totalBytes ?? Number.POSITIVE_INFINITY;
    this.#try(path, "prune", (log) => {
      let sum = 0;
      for (const file of archived(log).reverse()) {
        // The incomplete copy of one that is counted itself.
        if (file.endsWith(".tmp")) continue;
        const full = log.entry(file);
        sum += lstatSync(full, { throwIfNoEntry: false })?.size ?? 0;
        if (sum > total) remove(full);
      }
    });
  }

  /** Reports a failure once, until the same action succeeds again. */
  #try(path: string, what: string, act: (log: FoundFile) => void): boolean {
    const file = `${path}.*`;
    try {
      inFolderOf(path, act);
    } catch (error) {
      if (!this.#reported.has(what))
        this.#events.problem(file, errnoOf(error), `Cannot ${what} ${path}: ${reasonOf(error)}`);
      this.#reported.add(what);
      return false;
    }
    if (this.#reported.delete(what) && this.#reported.size === 0) this.#events.works(file);
    return true;
  }
}

/** The end of a rotated file's name: the time of rotation, then the suffix of the compression. */
const STAMPED = /\.\d{8}T\d{9}Z(\.gz(\.(\d+-[0-9a-f]+\.)?tmp)?)?$/;

/** By folder. */
const known = new Map<string, readonly string[]>();

function rotatedIn({ folderId, entry }: FoundFile): readonly string[] {
  const names = known.get(folderId) ?? readdirSync(entry(".")).filter((name) => STAMPED.test(name));
  if (known.size === 0) setImmediate(clearListings);
  known.set(folderId, names);
  return names;
}

function inFolderOf(path: string, act: (log: FoundFile) => void): void {
  const log = walkTo(path);
  try {
    act(log);
  } finally {
    log.close();
  }
}

/** A file was renamed or removed. */
function clearListings(): void {
  known.clear();
}
