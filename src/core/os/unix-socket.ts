/** Unix sockets whose paths may be longer than an address of a socket can be. */
import { closeSync, constants, mkdtempSync, openSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { O_PATH } from "./path-walk.ts";

/** Longest path of a Unix socket: 103 bytes and a NUL on macOS, 107 and a NUL on Linux (unix(7)). */
export const MAX_BYTES = 103;

/** Whether other programs can use this path as it is. */
export function isShort(path: string): boolean {
  return Buffer.byteLength(path) <= MAX_BYTES;
}

/** Whether procman can use this path: Linux has a short one for each, below /proc. */
export function canBeAddress(path: string): boolean {
  return isShort(path) || process.platform === "linux";
}

/** A path for a socket of this name: in the folder; without /proc, and if that path is too long, in a new folder that only this user may enter. */
export function socketPathIn(folder: string, name: string): string {
  const path = join(folder, name);
  return canBeAddress(path) ? path : join(mkdtempSync(join(tmpdir(), "procman-")), name);
}

/** The same place by a short path. `release` closes the folder that the path goes through. */
export function shortened(path: string): { readonly path: string; readonly release: () => void } {
  if (isShort(path)) return { path, release: () => undefined };
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY | O_PATH);
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, release: () => closeSync(folder) };
}

export function connectUnix(path: string): Socket {
  const short = shortened(path);
  const socket = connect(short.path);
  let isReleased = false;
  const release = (): void => {
    if (!isReleased) short.release();
    isReleased = true;
  };
  return socket.once("connect", release).once("close", release);
}
