/** Name and state folder of a configuration file, without checking the file: what clients need to find procman. */
import { basename, dirname, join, resolve } from "node:path";
import { type ParseError, parse } from "jsonc-parser";
import { ProcmanError } from "../base/errors.ts";
import { groupSocketOf } from "../os/group-access.ts";
import { runningIn } from "../os/lock.ts";
import { startFolder } from "../os/start-folder.ts";
import { checkStateFolder } from "../os/state-folder.ts";
import { read } from "./config-file.ts";
import { withoutBom } from "./document.ts";
import { fastParse } from "./fast-parse.ts";
import { NAME_PATTERN } from "./fields/field.ts";

export type Location = { readonly name: string; readonly stateDir: string };

type FileLocation = Location & {
  readonly file: string;
  /** `api.revoked` of the file. */
  readonly revoked: readonly string[];
};

/** Used when the file has no name. */
export const DEFAULT_NAME = "procman";

/** @throws {ProcmanError} `configuration-missing`, `configuration-invalid` for its name, `state-folder` */
export function locate(path: string | undefined, cwd: string): FileLocation {
  const { name, file, data } = named(path, cwd);
  const revoked = member(member(data, "api"), "revoked");
  const consumers = Array.isArray(revoked) ? revoked.filter((each) => typeof each === "string") : [];
  const stateDir = stateDirOf(dirname(file), name);
  checkStateFolder(stateDir);
  return { name, stateDir, file, revoked: consumers };
}

/** Name of a procman that another user may run. @throws {ProcmanError} `configuration-missing`, `configuration-invalid` for its name */
export function nameOf(path: string | undefined, cwd: string): string {
  return named(path, cwd).name;
}

/** The socket of `api.group` of a procman that another user may run. @throws {ProcmanError} as `nameOf` */
export function groupSocketFor(path: string | undefined, cwd: string): string {
  const { name, file } = named(path, cwd);
  return groupSocketOf(stateDirOf(dirname(file), name));
}

function named(
  path: string | undefined,
  cwd: string,
): Pick<FileLocation, "name" | "file"> & { readonly data: unknown } {
  const { file, text } = read(path, cwd);
  const faults: ParseError[] = [];
  const source = withoutBom(text);
  const fast = fastParse(source);
  const data: unknown = fast === undefined ? parse(source, faults, { allowTrailingComma: true }) : fast.data;
  const given = member(data, "name");
  const isDamaged = faults.length > 0 || typeof data !== "object";
  const name =
    typeof given === "string"
      ? checked(given, file)
      : ((isDamaged ? soleRunning(dirname(file)) : undefined) ?? DEFAULT_NAME);
  return { name, file, data };
}

/** The name is a part of paths. */
function checked(name: string, file: string): string {
  if (NAME_PATTERN.test(name)) return name;
  const allowed = 'allowed: 1 to 64 characters from a-z, 0-9, ".", "_" and "-"';
  throw new ProcmanError(
    "configuration-invalid",
    `Cannot use "name" in ${file}: found ${JSON.stringify(name)}; ${allowed}.`,
  );
}

/** The name of the procman that runs beside a file that can't name it; undefined if it is none, or one of several. */
function soleRunning(folder: string): string | undefined {
  if (process.env.PROCMAN_STATE_DIR) return undefined;
  const [name, ...others] = runningIn(join(folder, ".procman"));
  return others.length === 0 ? name : undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** Name of the configuration file; of one in the state folder: of the Procfile, or the like, that it was made of. */
export function sourceName({ file, name }: { readonly file: string; readonly name: string }): string {
  const folder = dirname(file);
  const isMade = folder === stateDirOf(dirname(dirname(folder)), name);
  return basename(file, isMade ? ".jsonc" : "");
}

/** The state folder for a configuration of this name in this folder. */
export function stateDirOf(folder: string, name: string): string {
  const root = process.env.PROCMAN_STATE_DIR;
  return root ? resolve(startFolder(root), root, name) : join(folder, ".procman", name);
}
