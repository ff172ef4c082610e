/** Files of other process managers: reading them, and the errors of that. */
import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isNotFound, ProcmanError, reasonOf } from "../../core/base/errors.ts";
import { displayPath, readConfigBytes } from "../../core/config/config-file.ts";
import { includedPaths } from "../../core/config/include-patterns.ts";
import { renderProblems } from "../../core/config/problems.ts";
import { namesIfSeen, statIfSeen } from "../../core/os/files.ts";
import { SourceFault } from "./source-fault.ts";

/** A foreign file that was read. */
export type ForeignFile = {
  /** Absolute path. */
  readonly file: string;
  /** Its name in messages and comments. */
  readonly shownAs: string;
  readonly text: string;
};

/** Standard input as a file. */
const STDIN = "-";

/** @throws {ProcmanError} `configuration-missing`: it doesn't exist, or can't be read */
export function readForeign(path: string, cwd: string): ForeignFile {
  const file = resolve(cwd, path === STDIN ? "standard input" : path);
  const shownAs = path === STDIN ? "standard input" : displayPath(file, cwd);
  try {
    const bytes = path === STDIN ? readFileSync(0) : readConfigBytes(file);
    return { file, shownAs, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (cause) {
    const why =
      cause instanceof TypeError
        ? "it has bytes that are not UTF-8"
        : isNotFound(cause)
          ? "there is no such file"
          : reasonOf(cause);
    throw new ProcmanError("configuration-missing", `Cannot import ${shownAs}: ${why}`, { cause });
  }
}

/** The files that a pattern of an `[include]` finds. */
export function readMatching(pattern: string, folder: string, cwd: string): readonly ForeignFile[] {
  return includedPaths([pattern], folder, "").flatMap(({ file }) =>
    statIfSeen(file)?.isFile() === true ? [readForeign(file, cwd)] : [],
  );
}

/** The texts of the drop-ins of a unit of systemd. */
export function readDropIns(unit: string, cwd: string): readonly string[] {
  const folder = join(dirname(unit), `${basename(unit)}.d`);
  return namesIfSeen(folder)
    .filter((name) => name.endsWith(".conf"))
    .sort()
    .map((name) => readForeign(join(folder, name), cwd).text);
}

/** Runs a parser; its syntax error is shown with the line of the file. @throws {ProcmanError} `configuration-invalid` */
export function withPlace<T>({ shownAs, text }: ForeignFile, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    const problem = { file: shownAs, ...error.place, path: "", message: error.message };
    throw new ProcmanError(
      "configuration-invalid",
      `Cannot import ${shownAs}:\n\n${renderProblems([problem], new Map([[shownAs, text]]))}`,
    );
  }
}
