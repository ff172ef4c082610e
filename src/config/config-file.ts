/** Finds and reads the configuration file, without parsing it. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { readWhole } from "../os/careful-files.ts";
import { ConfigurationError } from "./problems.ts";

/** Looked up in this order. */
export const FILE_NAMES = ["procman.jsonc", "procman.json"] as const;

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
 * Reads the file of the path; without a path the first of `FILE_NAMES` in `cwd`.
 *
 * @throws {ProcmanError} `configuration-missing`: no such file, or it can't be read.
 */
export function read(path: string | undefined, cwd: string): ConfigText {
  const candidates = path === undefined ? FILE_NAMES.map((name) => join(cwd, name)) : [resolve(cwd, path)];
  for (const file of candidates) {
    const bytes = bytesOf(file, displayPath(file, cwd));
    if (bytes !== undefined) return { file, shownAs: displayPath(file, cwd), text: textOf(bytes, displayPath(file, cwd)) };
  }
  throw new ProcmanError(
    "configuration-missing",
    path === undefined ? missingMessage(cwd) : `Cannot read ${path}: no such file. \`procman init --config ${path}\` makes one.`,
  );
}

/** Relative to the current folder where the file lies below it. */
export function displayPath(file: string, cwd: string): string {
  const fromCwd = relative(cwd, file);
  return fromCwd === ".." || fromCwd.startsWith(`..${sep}`) || isAbsolute(fromCwd) ? file : fromCwd;
}

function missingMessage(cwd: string): string {
  return `Cannot find a configuration: neither ${FILE_NAMES.join(" nor ")} in ${cwd}. \`procman init\` makes one, --config PATH names another.`;
}

/** Bytes. */
const MAX_SIZE = 16 * 1024 * 1024;

/** Follows links, also as root: the owner of the file decides what root runs. */
export function readConfigBytes(file: string): Buffer {
  return readWhole(file, { maxBytes: MAX_SIZE, isCareful: false, waitsForPipe: true });
}

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder; name the file in it",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ELOOP: "its symbolic links form a loop",
  ENOTDIR: "a part of the path is not a folder",
};

function bytesOf(file: string, name: string): Buffer | undefined {
  try {
    return readConfigBytes(file);
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
