/** Finds and reads the configuration file, without parsing it. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { readWhole } from "../os/careful-files.ts";
import { statIfSeen } from "../os/files.ts";
import { FILE_NAMES, nearestFolder } from "./nearest-folder.ts";
import { ConfigurationError } from "./problems.ts";

/** A configuration file that was read. */
export type ConfigText = {
  /** Absolute. */
  readonly file: string;
  /** Name in messages. */
  readonly shownAs: string;
  /** Text of the file, byte order mark included. */
  readonly text: string;
};

/**
 * Reads the file of the path, which may be its folder. Without a path: that of `PROCMAN_CONFIG`, else the first of
 * `FILE_NAMES` in `cwd` or the nearest folder above it.
 *
 * @throws {ProcmanError} `configuration-missing`: no such file, it can't be read, or another user could have put it
 * above `cwd`.
 */
export function read(path: string | undefined, cwd: string): ConfigText {
  const folder = path === undefined && !process.env.PROCMAN_CONFIG ? nearestFolder(cwd) : undefined;
  return readHere(folder === undefined || folder === cwd ? path : folder, cwd);
}

/** The same for a running procman, which doesn't look above `cwd`: if its file is missing for a moment, no other one may count. */
export function readHere(path: string | undefined, cwd: string): ConfigText {
  if (path !== undefined) return readNamed(path, cwd);
  const fromEnvironment = process.env.PROCMAN_CONFIG;
  if (fromEnvironment) return readFromEnvironment(fromEnvironment, cwd);
  const found = readIn(cwd, cwd);
  if (found === undefined) throw new ProcmanError("configuration-missing", missingMessage(cwd));
  return found;
}

function readFromEnvironment(path: string, cwd: string): ConfigText {
  try {
    return readNamed(path, cwd);
  } catch (cause) {
    if (!(cause instanceof ProcmanError) || cause.code !== "configuration-missing") throw cause;
    throw new ProcmanError("configuration-missing", `${cause.message} (named by PROCMAN_CONFIG)`, { cause });
  }
}

function readNamed(path: string, cwd: string): ConfigText {
  if (path === "") throw new ProcmanError("usage", "Cannot read the configuration: its path is empty");
  const file = resolve(cwd, path);
  const isFolder = statIfSeen(file)?.isDirectory() === true;
  const found = isFolder ? readIn(file, cwd) : readIfThere(file, cwd);
  if (found !== undefined) return found;
  throw new ProcmanError(
    "configuration-missing",
    isFolder
      ? `Cannot read ${path}: the folder has neither ${FILE_NAMES.join(" nor ")}; name another file.`
      : `Cannot read ${path}: no such file. \`procman init --config ${path}\` makes one.`,
  );
}

function readIn(folder: string, cwd: string): ConfigText | undefined {
  for (const name of FILE_NAMES) {
    const found = readIfThere(join(folder, name), cwd);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A file that is not the main one: undefined if it doesn't exist. It is never a pipe. @throws {ProcmanError} @throws {ConfigurationError} */
export function readFound(file: string, shownAs: string): ConfigText | undefined {
  const bytes = bytesOf(file, shownAs, { waitsForPipe: false });
  return bytes === undefined ? undefined : { file, shownAs, text: textOf(bytes, shownAs) };
}

function readIfThere(file: string, cwd: string): ConfigText | undefined {
  const shownAs = displayPath(file, cwd);
  const bytes = bytesOf(file, shownAs);
  return bytes === undefined ? undefined : { file, shownAs, text: textOf(bytes, shownAs) };
}

/** Relative to the current folder where the file lies below it. */
export function displayPath(file: string, cwd: string): string {
  const fromCwd = relative(cwd, file);
  return fromCwd === "" || fromCwd === ".." || fromCwd.startsWith(`..${sep}`) || isAbsolute(fromCwd) ? file : fromCwd;
}

function missingMessage(cwd: string): string {
  return `Cannot find a configuration: neither ${FILE_NAMES.join(" nor ")} in ${cwd} or a folder above it. \`procman add PROGRAM\` or \`procman init\` makes one, --config PATH names another.`;
}

/** Bytes. */
const MAX_SIZE = 16 * 1024 * 1024;

/** Follows links, also as root: the owner of the file decides what root runs. */
export function readConfigBytes(
  file: string,
  { waitsForPipe = true }: { readonly waitsForPipe?: boolean } = {},
): Buffer {
  return readWhole(file, { maxBytes: MAX_SIZE, isCareful: false, waitsForPipe });
}

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ELOOP: "its symbolic links form a loop",
  ENOTDIR: "a part of the path is not a folder",
};

function bytesOf(file: string, name: string, how?: { readonly waitsForPipe: boolean }): Buffer | undefined {
  try {
    return readConfigBytes(file, how);
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new ProcmanError("configuration-missing", `Cannot read ${name}: ${REASONS[code] ?? message}`, { cause });
  }
}

function textOf(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ConfigurationError([
      { file: name, line: 1, column: 1, path: "", message: "Found bytes that are not UTF-8; save the file as UTF-8." },
    ]);
  }
}
