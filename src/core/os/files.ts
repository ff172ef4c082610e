/** Folders, links to them, and free disk space. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";

/** Creates a folder and its parents. (`mkdir` with `recursive` never returns for a path like /proc/none/x: nodejs/node, seen on 20.20.) */
export function makeFolder(path: string, mode: number): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent, mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process created it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** undefined: there is no such file, or it may not be looked at. */
export function statIfSeen(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Empty: there is no such file, or it may not be read. */
export function textIfSeen(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Where the link leads; empty: there is none, or it may not be looked at. */
export function linkIfSeen(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Names in the folder; none if there is no such folder, or it has lost its rights. */
export function namesIfSeen(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (["ENOENT", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

/** Removes a file; leaves it where the folder is read-only, or rights are missing. */
export function removeIfAllowed(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch (error) {
    if (!["EROFS", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Whether the path, or as much of it as exists, leads through a symbolic link. */
export function hasSymlink(path: string): boolean {
  const full = resolve(path);
  if (existsSync(full)) return realpathSync.native(full) !== full;
  return dirname(full) !== full && hasSymlink(dirname(full));
}

/** True if the disk has no room for another byte or file. File systems without a limit report 0 blocks or files in total; the last blocks may be reserved for root. */
export function isFull(folder: string): boolean {
  const { blocks, bavail, bfree, files, ffree } = statfsSync(folder);
  const left = process.getuid?.() === 0 ? bfree : bavail;
  return (blocks > 0 && left === 0) || (files > 0 && ffree === 0);
}

/** Whether a path lies in a folder, or is that; both are absolute, and written in the same way. */
export function isWithin(folder: string, path: string): boolean {
  return `${path}/`.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
