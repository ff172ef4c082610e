/** The folder where a user called procman: the one place that asks for the current one. */
import { readlinkSync } from "node:fs";
import { isAbsolute } from "node:path";
import { isNotFound, ProcmanError } from "../base/errors.ts";

/** With it a keeper tells its parts, and the keeper after it, where the user called. */
const VARIABLE = "PROCMAN_CALLED_IN";

/** No path leads through it, and none is below it. */
const NOWHERE = "/dev/null";

let left: string | undefined;

/**
 * What relative paths of the user resolve from. In a folder that was removed, only an absolute `path` means anything.
 *
 * @throws {ProcmanError} `configuration-missing`: there is no current folder, and `path` isn't absolute
 */
export function startFolder(path = process.env.PROCMAN_CONFIG || ""): string {
  if (left !== undefined) return left;
  try {
    return process.cwd();
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    if (isAbsolute(path)) return NOWHERE;
    const what = path === "" ? "" : `, so ${path} leads nowhere`;
    throw new ProcmanError(
      "configuration-missing",
      `Cannot use the current folder: it was removed${what}. Change to another folder, or name the file by its absolute path: --config /PATH/procman.json`,
      { cause },
    );
  }
}

/**
 * For procman's own parts: a folder of the user may be removed, replaced or unmounted while they run, and then nothing
 * could be started in it. From now on `startFolder` is what the keeper tells, else `folder`.
 */
export function leaveFolder(folder: string = formerFolder()): void {
  const { [VARIABLE]: told } = process.env;
  delete process.env[VARIABLE];
  left = told ?? folder;
  process.chdir("/");
}

/** For the parts that this process starts. */
export function startFolderVariable(): NodeJS.ProcessEnv {
  return { [VARIABLE]: startFolder() };
}

/** The current folder, also one that was removed: a keeper of 1.0.0 stays in it. */
function formerFolder(): string {
  try {
    return process.cwd();
  } catch {
    return process.platform === "linux" ? readlinkSync("/proc/self/cwd").replace(/ \(deleted\)$/, "") : NOWHERE;
  }
}
