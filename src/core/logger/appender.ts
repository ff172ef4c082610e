/** Appends whole lines to the file at a path: follows its deletion and renaming, and rotates it before it grows too big. */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { errnoOf, isNotFound } from "../base/errors.ts";
import { openFound } from "../os/careful-files.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint } from "../os/failpoint.ts";
import { type FoundFile, walkTo } from "../os/path-walk.ts";
import type { LogRotation } from "./rotation.ts";

const NEWLINE = 0x0a;
/** While writing, the path is checked at this interval. */
const CHECK_MS = 100;
/** After a failed rotation the file keeps growing for this long. */
const ROTATE_AGAIN_MS = 1000;
const FOLDER_MODE = 0o750;
const FILE_MODE = 0o640;
/** Mode of a file in the state folder. */
export const OWN_MODE = 0o600;
/** No file has this identity. */
const NOWHERE = "";

type OpenFile = {
  readonly fd: number;
  /** Device and inode. */
  readonly identity: string;
  /** False for a device, FIFO or socket, which is never rotated, checked or repaired. */
  readonly regular: boolean;
  /** When it was opened. */
  readonly size: number;
  /** Time of its first line, in milliseconds since 1970. */
  readonly since: number;
};

/** Bytes that `append` has written; `error` is present if it stopped early. */
export type AppendProgress = { readonly done: number; readonly error?: unknown };

/** `/dev/stdout` may be a link to a regular file, which is not procman's. */
function isForeign(path: string): boolean {
  return path.startsWith("/dev/") || path.startsWith("/proc/");
}

/** Truncates a log file, also while others append to it. Returns false if it is missing, or none of procman's. */
export function emptyFile(path: string): boolean {
  if (isForeign(path)) return false;
  try {
    const found = walkTo(path);
    try {
      const { fd, stat } = openFound(found, constants.O_WRONLY | constants.O_NONBLOCK);
      try {
        if (stat.isFile()) ftruncateSync(fd, 0);
        return stat.isFile();
      } finally {
        closeSync(fd);
      }
    } finally {
      found.close();
    }
  } catch (error) {
    // A FIFO that nobody reads, or no file.
    if (isNotFound(error) || errnoOf(error) === "ENXIO") return false;
    throw error;
  }
}

/** If standard output is a socket (journald), it can't be opened by path; then the inherited descriptor is used. */
const INHERITED: Readonly<Record<string, number>> = { "/dev/stdout": 1, "/dev/stderr": 2 };

function openOrInherit(found: FoundFile, mode: number): { readonly fd: number; readonly stat: Stats } {
  // Nonblocking: opening a FIFO without a reader fails (ENXIO) instead of blocking the logger.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
  try {
    return openFound(found, flags, mode);
  } catch (error) {
    const fd = INHERITED[found.entry(found.name)];
    if (fd === undefined || errnoOf(error) !== "ENXIO") throw error;
    return { fd, stat: fstatSync(fd) };
  }
}

function openForAppend(found: FoundFile, path: string, mode: number): OpenFile {
  const { fd, stat } = openOrInherit(found, mode);
  // One of procman's own files, made by a version that let others read it.
  if (mode === OWN_MODE && stat.isFile() && (stat.mode & 0o777) !== OWN_MODE) fchmodSync(fd, OWN_MODE);
  const since = stat.birthtimeMs > 0 ? stat.birthtimeMs : Date.now();
  return { fd, identity: identityOf(stat), regular: stat.isFile() && !isForeign(path), size: stat.size, since };
}

/** undefined: the file has another name now. */
function lastByteOf({ identity, size }: OpenFile, found: FoundFile): number | undefined {
  try {
    const { fd, stat } = openFound(found, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const last = Buffer.alloc(1);
      return identityOf(stat) === identity && readSync(fd, last, 0, 1, size - 1) === 1 ? last[0] : undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** Start of the line that contains byte `at` of `bytes`. */
export function lineStart(bytes: Buffer, at: number): number {
  return bytes.subarray(0, at).lastIndexOf(NEWLINE) + 1;
}

export class Appender {
  readonly path: string;
  readonly #archive: LogRotation;
  readonly #mode: number;
  #open: OpenFile | undefined;
  #size = 0;
  /** If the last byte written was not a newline: the identity of that file. */
  #partialLineFile: string | undefined;
  /** Monotonic milliseconds. */
  #checkAt = 0;
  #rotateAt = 0;

  constructor(path: string, archive: LogRotation, mode = FILE_MODE) {
    this.path = path;
    this.#mode = mode;
    this.#archive = archive;
  }

  /** undefined: it is closed, or is not a regular file, whose reader would see the end. */
  get idleDescriptor(): number | undefined {
    return this.#open?.regular === true && this.#open.fd > 2 ? this.#open.fd : undefined;
  }

  /** Writes `bytes` (whole lines) from byte `from`, which is inside a line only after an incomplete call. */
  append(bytes: Buffer, from: number): AppendProgress {
    let at = from;
    try {
      at = this.#ready(bytes, at);
      while (at < bytes.length) {
        const end = this.#fitting(bytes, at);
        while (at < end) at += this.#write(bytes, at, end);
      }
      return { done: at };
    } catch (error) {
      return { done: at, error };
    }
  }

  /** Closes the file; the next `append` opens it again. */
  close(): void {
    if (!this.#open) return;
    const { fd } = this.#open;
    this.#open = undefined;
    if (fd > 2) closeSync(fd);
  }

  /** Empties the file; a line that was begun in it is written again as a whole. Returns and throws as `emptyFile`. */
  empty(): boolean {
    const isEmptied = emptyFile(this.path);
    if (isEmptied && this.#partialLineFile !== undefined) this.#partialLineFile = NOWHERE;
    if (isEmptied) this.#size = 0;
    return isEmptied;
  }

  #write(bytes: Buffer, at: number, end: number): number {
    const { fd, identity } = this.#opened();
    const written = writeSync(fd, bytes, at, end - at);
    this.#size += written;
    this.#partialLineFile = bytes[at + written - 1] === NEWLINE ? undefined : identity;
    return written;
  }

  #opened(): OpenFile {
    if (this.#open) return this.#open;
    const found = walkTo(this.path, { makeFolders: FOLDER_MODE });
    try {
      return this.#openFound(found);
    } finally {
      found.close();
    }
  }

  #openFound(found: FoundFile): OpenFile {
    const open = openForAppend(found, this.path, this.#mode);
    this.#open = open;
    this.#checkAt = monotonicMs() + CHECK_MS;
    if (!open.regular) return open;
    this.#size = open.size;
    let isThere = true;
    try {
      if (this.#partialLineFile !== open.identity) isThere = this.#endTornLine(open, found);
    } catch (error) {
      this.close();
      throw error;
    }
    if (!isThere) {
      this.close();
      return this.#opened();
    }
    if (this.#archive.rotation) this.#archive.tidy(this.path);
    return open;
  }

  /** Opens the file if necessary. A line begun in a file that was removed is written again to the new one. */
  #ready(bytes: Buffer, at: number): number {
    this.#checkPath();
    const { identity } = this.#opened();
    if (this.#partialLineFile === undefined || this.#partialLineFile === identity) return at;
    this.#partialLineFile = undefined;
    return lineStart(bytes, at);
  }

  /** If the file was deleted or renamed, the next write creates a new one. */
  #checkPath(): void {
    if (!this.#open?.regular) return;
    const now = monotonicMs();
    if (now < this.#checkAt) return;
    this.#checkAt = now + CHECK_MS;
    const stat = statSync(this.path, { throwIfNoEntry: false });
    if (stat && identityOf(stat) === this.#open.identity) this.#size = stat.size;
    else this.close();
  }

  /** A logger that was killed while writing left a partial line: ends it with a newline. False: another logger has renamed the file since. */
  #endTornLine(open: OpenFile, found: FoundFile): boolean {
    if (this.#size === 0) return true;
    const last = lastByteOf(open, found);
    if (last === undefined) return false;
    if (last !== NEWLINE) this.#size += writeSync(open.fd, "\n");
    return true;
  }

  /** The end of the bytes that may be written to the current file; rotates if necessary. */
  #fitting(bytes: Buffer, at: number): number {
    const endOfLine = (): number => bytes.indexOf(NEWLINE, at) + 1;
    if (this.#partialLineFile !== undefined) return endOfLine();
    const { regular, since } = this.#opened();
    const { rotation } = this.#archive;
    if (!rotation || !regular) return bytes.length;
    if (monotonicMs() < this.#rotateAt) return bytes.length;
    if (rotation.ageMs > 0 && Date.now() - since > rotation.ageMs && this.#size > 0) return this.#rotated(bytes, at);
    const room = rotation.sizeBytes > 0 ? rotation.sizeBytes - this.#size : Number.POSITIVE_INFINITY;
    if (bytes.length - at <= room) return bytes.length;
    const end = room > 0 ? lineStart(bytes, at + room) : 0;
    if (end > at) return end;
    // A line bigger than a whole file gets its own file.
    return this.#size > 0 ? this.#rotated(bytes, at) : endOfLine();
  }

  #rotated(bytes: Buffer, at: number): number {
    this.#checkAt = 0;
    this.#checkPath();
    // The file was removed a moment ago, so a new one is opened instead.
    if (!this.#open) this.#opened();
    else if (this.#archive.rotate(this.path)) {
      failpoint("logger.rotated");
      this.close();
    } else this.#rotateAt = monotonicMs() + ROTATE_AGAIN_MS;
    return this.#fitting(bytes, at);
  }
}
