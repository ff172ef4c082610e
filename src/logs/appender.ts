/** Appends whole lines to the file that has a certain name now: follows deletion and renaming, rotates before it grows too big. */
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { failpoint } from "../os/failpoint.ts";
import { makeFolder } from "../os/folder.ts";
import type { Archive } from "./archive.ts";
import { errnoOf } from "./errno.ts";

const NEWLINE = 0x0a;
/** While writing, it is looked at this often whether the name still belongs to the file. */
const LOOK_MS = 100;
/** After a failed rotation the file grows on for so long. */
const ROTATE_AGAIN_MS = 1000;

type Open = {
  readonly fd: number;
  /** Device and inode. */
  readonly identity: string;
  /** A device, FIFO or socket is never rotated, looked at or repaired. */
  readonly regular: boolean;
  /** At its opening. */
  readonly size: number;
  /** Since when it has been written to. */
  readonly since: number;
};

/** How far `append` came; `error` is there when that is not the end. */
export type Progress = { readonly done: number; readonly error?: unknown };

/** `/dev/stdout` may lead to a regular file: that one belongs to somebody else. */
function isForeign(path: string): boolean {
  return path.startsWith("/dev/") || path.startsWith("/proc/");
}

/** Where standard output is a socket (journald) it can't be opened by name; the inherited descriptor it is, then. */
const INHERITED: Readonly<Record<string, number>> = { "/dev/stdout": 1, "/dev/stderr": 2 };

function openFolderToo(path: string): number {
  // Nonblocking: the open of a FIFO without reader fails (ENXIO) instead of stopping the logger.
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOCTTY;
  try {
    return openSync(path, flags, 0o640);
  } catch (error) {
    const inherited = INHERITED[path];
    if (inherited !== undefined && errnoOf(error) === "ENXIO") return inherited;
    if (errnoOf(error) !== "ENOENT") throw error;
    makeFolder(dirname(path), 0o750);
    return openSync(path, flags, 0o640);
  }
}

function openForAppend(path: string): Open {
  const fd = openFolderToo(path);
  const stat = fstatSync(fd);
  const since = stat.birthtimeMs > 0 ? stat.birthtimeMs : Date.now();
  return { fd, identity: `${stat.dev}:${stat.ino}`, regular: stat.isFile() && !isForeign(path), size: stat.size, since };
}

/** Where the line begins that byte `at` of `bytes` belongs to. */
export function lineStart(bytes: Buffer, at: number): number {
  return bytes.subarray(0, at).lastIndexOf(NEWLINE) + 1;
}

export class Appender {
  readonly path: string;
  readonly #archive: Archive;
  #open: Open | undefined;
  #size = 0;
  /** The last byte written was no newline: the identity of the file that it went to. */
  #tornIn: string | undefined;
  #lookAt = 0;
  #rotateAt = 0;

  constructor(path: string, archive: Archive) {
    this.path = path;
    this.#archive = archive;
  }

  /** Opens the file ahead of the first line, so that a problem shows early. */
  prepare(): Progress {
    return this.append(Buffer.alloc(0), 0);
  }

  /** Writes `bytes` (whole lines) from byte `from`, which lies in a line only where an earlier call stopped. */
  append(bytes: Buffer, from: number): Progress {
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

  /** The next `append` opens the file anew. */
  close(): void {
    if (!this.#open) return;
    const { fd } = this.#open;
    this.#open = undefined;
    if (fd > 2) closeSync(fd);
  }

  #write(bytes: Buffer, at: number, end: number): number {
    const { fd, identity } = this.#need();
    const written = writeSync(fd, bytes, at, end - at);
    this.#size += written;
    this.#tornIn = bytes[at + written - 1] === NEWLINE ? undefined : identity;
    return written;
  }

  #need(): Open {
    if (this.#open) return this.#open;
    const open = openForAppend(this.path);
    this.#open = open;
    this.#lookAt = Date.now() + LOOK_MS;
    if (!open.regular) return open;
    this.#size = open.size;
    try {
      if (this.#tornIn !== open.identity) this.#mendTail(open);
    } catch (error) {
      this.close();
      throw error;
    }
    if (this.#archive.rotation) this.#archive.tidy(realpathSync.native(this.path));
    return open;
  }

  /** Opens what is to be opened. A line begun in a file that is gone starts again in the new one. */
  #ready(bytes: Buffer, at: number): number {
    this.#look();
    const { identity } = this.#need();
    if (this.#tornIn === undefined || this.#tornIn === identity) return at;
    this.#tornIn = undefined;
    return lineStart(bytes, at);
  }

  /** Deleted or renamed by somebody: the next write goes to a new file of that name. */
  #look(): void {
    if (!this.#open?.regular) return;
    const now = Date.now();
    if (now < this.#lookAt) return;
    this.#lookAt = now + LOOK_MS;
    const stat = statSync(this.path, { throwIfNoEntry: false });
    if (stat && `${stat.dev}:${stat.ino}` === this.#open.identity) this.#size = stat.size;
    else this.close();
  }

  /** A logger that was killed within a write left half a line: the next one starts on a line of its own. */
  #mendTail(open: Open): void {
    if (this.#size === 0) return;
    const last = Buffer.alloc(1);
    const fd = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      readSync(fd, last, 0, 1, this.#size - 1);
    } finally {
      closeSync(fd);
    }
    if (last[0] === NEWLINE) return;
    this.#size += writeSync(open.fd, "\n");
  }

  /** Up to which byte the file may be written; rotates where it must. */
  #fitting(bytes: Buffer, at: number): number {
    const endOfLine = (): number => bytes.indexOf(NEWLINE, at) + 1;
    if (this.#tornIn !== undefined) return endOfLine();
    const { regular, since } = this.#need();
    const { rotation } = this.#archive;
    if (!rotation || !regular) return bytes.length;
    const now = Date.now();
    if (now < this.#rotateAt) return bytes.length;
    if (rotation.ageMs > 0 && now - since > rotation.ageMs && this.#size > 0) return this.#rotated(bytes, at);
    const room = rotation.sizeBytes > 0 ? rotation.sizeBytes - this.#size : Number.POSITIVE_INFINITY;
    if (bytes.length - at <= room) return bytes.length;
    const fits = room > 0 ? lineStart(bytes, at + room) : 0;
    if (fits > at) return fits;
    // A line that is bigger than a whole file gets one of its own.
    return this.#size > 0 ? this.#rotated(bytes, at) : endOfLine();
  }

  #rotated(bytes: Buffer, at: number): number {
    this.#lookAt = 0;
    this.#look();
    // Gone by somebody else's hand a moment ago: a new file it is, then.
    if (!this.#open) this.#need();
    else if (this.#archive.rotate(realpathSync.native(this.path))) {
      failpoint("logger.rotated");
      this.close();
    } else this.#rotateAt = Date.now() + ROTATE_AGAIN_MS;
    return this.#fitting(bytes, at);
  }
}
