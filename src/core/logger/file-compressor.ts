/** Compresses rotated log files in the background, also while another logger does so with the same files. */
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { isNotFound } from "../base/errors.ts";
import { openFound } from "../os/careful-files.ts";
import { failpoint } from "../os/failpoint.ts";
import { type FoundFile, walkTo } from "../os/path-walk.ts";
import { hasEnded } from "../os/process-stat.ts";
import { randomHex } from "../os/random-key.ts";

/** Another logger that has the file open notices within 100 ms that it was renamed, and writes to it until then. Milliseconds. */
const SETTLE_MS = 250;

/** A name in the folder of the log file with this path. */
export type RotatedFile = { readonly log: string; readonly name: string };

/** The rotated files of one log, to be compressed. */
export type CompressionJob = {
  /** The next file to compress. */
  readonly next: () => RotatedFile | undefined;
  /** The result of a compression. */
  readonly compressed: (error?: unknown) => void;
};

/** Name of an incomplete copy of this process: loggers with one pid in two containers have different ones. */
let own: string | undefined;
function unfinishedName(name: string): string {
  own ??= `${process.pid}-${randomHex(4)}`;
  return `${name}.gz.${own}.tmp`;
}

/** Whether this is the incomplete copy of a logger that was killed. */
export function isLeftover(name: string): boolean {
  const [, pid] = /\.gz\.(\d+)-[0-9a-f]+\.tmp$/.exec(name) ?? [];
  // This logger compresses one file at a time, and is between two.
  return pid !== undefined && (Number(pid) === process.pid || hasEnded(Number(pid)));
}

/**
 * Whether the compressed copy of this rotated file is complete: the logger that made it was killed before it removed
 * the file. gzip ends with the size of its content (RFC 1952, 2.3.1).
 */
export function isCompressed(log: FoundFile, name: string): boolean {
  const plain = lstatSync(log.entry(name), { throwIfNoEntry: false });
  // Another logger has removed one of the two meanwhile.
  if (plain === undefined || !existsSync(log.entry(`${name}.gz`))) return false;
  const { fd, stat } = openFound({ ...log, name: `${name}.gz` }, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const size = Buffer.alloc(4);
    const read = readSync(fd, size, 0, 4, Math.max(0, stat.size - 4));
    return read === 4 && size.readUInt32LE() === plain.size % 2 ** 32;
  } finally {
    closeSync(fd);
  }
}

/** Atomic: the name `.gz` appears when the file is complete. */
async function compress({ log, name }: RotatedFile, signal: AbortSignal): Promise<void> {
  const found = { ...walkTo(log), name };
  const unfinished = found.entry(unfinishedName(name));
  const stat = (): Stats | undefined => lstatSync(found.entry(name), { throwIfNoEntry: false });
  try {
    for (let packed: Stats | undefined, now = stat(); !isSame(packed, now); now = stat()) {
      rmSync(unfinished, { force: true });
      // Another logger has compressed or pruned it.
      if (now === undefined) return;
      await settle(now, signal);
      packed = await pack(found, unfinished, signal);
    }
    failpoint("logger.compressing");
    renameSync(unfinished, found.entry(`${name}.gz`));
    failpoint("logger.compressed");
    rmSync(found.entry(name), { force: true });
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (stat() !== undefined || !isNotFound(error)) throw error;
  } finally {
    found.close();
  }
}

/** Whether nothing was written to the file, and no other file has its name. */
function isSame(packed: Stats | undefined, now: Stats | undefined): boolean {
  return packed !== undefined && now !== undefined && packed.ino === now.ino && packed.size === now.size;
}

/** The change of its name is that of the inode, too. `Date.now()` lacks the fraction of a millisecond that `ctimeMs` has. */
async function settle({ ctimeMs }: Stats, signal: AbortSignal): Promise<void> {
  const age = Date.now() - Math.floor(ctimeMs);
  // After a clock was set back, the change may lie in the future.
  if (age >= 0 && age < SETTLE_MS) await sleep(SETTLE_MS - age, undefined, { signal });
}

/** Returns what the file was before it was read. */
async function pack(found: FoundFile, unfinished: string, signal: AbortSignal): Promise<Stats> {
  // Imported on first use: a logger that never rotates saves their memory.
  const [{ createGzip }, { pipeline }] = await Promise.all([import("node:zlib"), import("node:stream/promises")]);
  const { fd: source, stat } = openFound(found, constants.O_RDONLY | constants.O_NONBLOCK);
  let target: number;
  try {
    target = openSync(unfinished, "wx", stat.mode & 0o777);
  } catch (error) {
    closeSync(source);
    throw error;
  }
  await pipeline(createReadStream("", { fd: source }), createGzip(), createWriteStream("", { fd: target }), { signal });
  return stat;
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
