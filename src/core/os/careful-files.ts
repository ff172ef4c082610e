/** Reads and writes files that other users may have put in place: without blocking, bounded, and as root without following their links. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf } from "../base/errors.ts";
import { type FoundFile, isDescriptor, type WalkOptions, walkTo } from "./path-walk.ts";
import { processStat } from "./process-stat.ts";

const MEGABYTE = 1024 * 1024;

/** Opens the file that was found; `mode`: of a new one. */
export function openFound(
  found: FoundFile,
  flags: number,
  mode?: number,
): { readonly fd: number; readonly stat: Stats } {
  const fd = openSync(found.entry(found.name), flags | found.flags | constants.O_NOCTTY, mode);
  try {
    const stat = fstatSync(fd);
    found.check(stat);
    return { fd, stat };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

export type ReadOptions = WalkOptions & {
  /** Bytes. */
  readonly maxBytes?: number;
  /** Waits for the end of a pipe that procman was started with (`--config /dev/stdin`). */
  readonly waitsForPipe?: boolean;
};

/** Content of a regular file. @throws errors of the file system, and `EINVAL` for a FIFO, a device, or a file above the limit. */
export function readWhole(
  path: string,
  { maxBytes = MEGABYTE, waitsForPipe = false, ...options }: ReadOptions = {},
): Buffer {
  const found = walkTo(path, options);
  try {
    const isPipe = waitsForPipe && isDescriptor(path);
    const { fd, stat } = openFound(found, constants.O_RDONLY | (isPipe ? 0 : constants.O_NONBLOCK));
    try {
      if (stat.isDirectory()) throw failure("EISDIR", "it is a folder");
      if (!stat.isFile() && !isPipe) throw failure("EINVAL", `it is ${kindOf(stat)}, not a regular file`);
      return readTo(fd, maxBytes);
    } finally {
      closeSync(fd);
    }
  } finally {
    found.close();
  }
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function kindOf(stat: Stats): string {
  if (stat.isFIFO()) return "a FIFO";
  return stat.isSocket() ? "a socket" : "a device";
}

/** Stops above the limit, also in a file that grows. */
function readTo(fd: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let left = maxBytes + 1; ; ) {
    const chunk = Buffer.allocUnsafe(Math.min(left, 65_536));
    const count = readSync(fd, chunk);
    if (count === 0) return Buffer.concat(chunks);
    left -= count;
    if (left === 0) throw failure("EINVAL", `it is bigger than ${maxBytes / MEGABYTE} MB`);
    chunks.push(chunk.subarray(0, count));
  }
}

export type WriteOptions = {
  /** Default: 0600. */
  readonly mode?: number;
  /** Survives a power cut. */
  readonly isDurable?: boolean;
};

/** Replaces the file: a reader gets the old content or all of the new one. A path lies in a folder of procman's user; for others: `walkTo`. */
export function writeWhole(place: string | FoundFile, data: string | Uint8Array, options: WriteOptions = {}): void {
  const target = typeof place === "string" ? place : place.entry(place.name);
  const unfinished = writeBeside(target, data, options);
  try {
    renameSync(unfinished, target);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  if (options.isDurable) syncFolder(dirname(target));
}

/** Writes a new file beside `path`, to be linked or renamed. Returns its path. */
export function writeBeside(
  path: string,
  data: string | Uint8Array,
  { mode = 0o600, isDurable = false }: WriteOptions = {},
): string {
  const unfinished = `${path}.${process.pid}-${Math.random().toString(36).slice(2, 10)}.tmp`;
  const fd = openSync(unfinished, "wx", mode);
  try {
    writeFileSync(fd, data);
    if (isDurable) syncFile(fd);
  } catch (error) {
    // A partial file would only take up room.
    rmSync(unfinished, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  return unfinished;
}

/** After a link or a rename in it. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY);
  try {
    syncFile(fd);
  } catch (error) {
    // Some file systems have no such call for folders.
    if (errnoOf(error) !== "EINVAL") throw error;
  } finally {
    closeSync(fd);
  }
}

function syncFile(fd: number): void {
  try {
    fsyncSync(fd);
  } catch (error) {
    // Node's permission model refuses it (Node 22 and later): what was written just now may not survive a power cut.
    if (errnoOf(error) !== "ERR_ACCESS_DENIED") throw error;
  }
}

/** Removes what `writeBeside` of processes that have ended left in a folder. */
export function removeUnfinished(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const [, pid] = /\.(\d+)-[a-z0-9]{1,8}\.tmp$/.exec(name) ?? [];
    if (pid !== undefined && processStat(Number(pid)) === undefined) rmSync(join(folder, name), { force: true });
  }
}
