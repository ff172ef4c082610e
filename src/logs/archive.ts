/** The rotated files of one log file: their names, their compression, how much they may take together. */
import { renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Rotation } from "../contract/logger-protocol.ts";
import type { Compressor } from "./compressor.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import { forgetListings, rotatedIn, STAMPED } from "./listing.ts";

export type ArchiveEvents = {
  readonly problem: (file: string, code: string, message: string) => void;
  readonly works: (file: string) => void;
};

/** `20261121T100000000Z`: sorts by age, has no character that a shell or Windows minds. */
function compact(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, "");
}

/** The time of a rotated file's name. */
function timeOf(suffix: string): number {
  const iso = suffix.replace(/^\.(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)(\d{3})Z.*$/, "$1-$2-$3:$4:$5.$6Z");
  return Date.parse(iso);
}

/** Names in the folder, the oldest first. */
function archived(path: string): string[] {
  const name = basename(path);
  return rotatedIn(dirname(path))
    .filter((file) => file.startsWith(name) && file.search(STAMPED) === name.length)
    .sort();
}

/** A name later than all others, even if the clock was set back or this millisecond has a file already. */
function nextName(path: string): string {
  const newest = archived(path).at(-1)?.slice(basename(path).length);
  const time = newest === undefined ? 0 : timeOf(newest) + 1;
  return `${path}.${compact(Math.max(time, Date.now()))}`;
}

function remove(file: string): void {
  rmSync(file, { force: true });
  forgetListings();
}

export class Archive {
  rotation: Rotation | undefined;
  readonly #compressor: Compressor;
  readonly #events: ArchiveEvents;
  /** The file that rotates, links followed. */
  #path: string | undefined;
  /** What failed and has been said. */
  readonly #said = new Set<string>();

  constructor(compressor: Compressor, events: ArchiveEvents) {
    this.#compressor = compressor;
    this.#events = events;
  }

  /** Renames the file. False: it could not be, and that has been said. */
  rotate(path: string): boolean {
    return this.#try(path, "rotate", () => {
      renameSync(path, nextName(path));
      forgetListings();
    });
  }

  /** For each file that is opened: deletes what is too much, finishes what a crash left, and compresses in the background. */
  tidy(path: string): void {
    this.#path = path;
    this.#prune(path);
    if (this.rotation?.gzip) this.#compressor.add(this);
  }

  /** For the compressor: the next file to compress; leftovers of a compression that was cut off are removed. */
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

  /** For the compressor: how it went. */
  compressed(error?: unknown): void {
    const path = this.#path;
    if (path === undefined) return;
    forgetListings();
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

  /** Says a failure once until the same thing works again. */
  #try(path: string, what: string, act: () => void): boolean {
    const file = `${path}.*`;
    try {
      act();
    } catch (error) {
      if (!this.#said.has(what)) this.#events.problem(file, errnoOf(error), `Cannot ${what} ${path}: ${reasonOf(error)}`);
      this.#said.add(what);
      return false;
    }
    if (this.#said.delete(what) && this.#said.size === 0) this.#events.works(file);
    return true;
  }
}
