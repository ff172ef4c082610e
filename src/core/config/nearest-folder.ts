/** The folder whose configuration file counts, for a command without `--config` in a folder below it. */
import { lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { userInText } from "../os/user-names.ts";

/** Looked up in this order. */
export const FILE_NAMES = ["procman.jsonc", "procman.json"] as const;

/**
 * `cwd`, or the nearest folder above it that has a configuration file; undefined if there is none.
 *
 * @throws {ProcmanError} `configuration-missing`: another user could have put that file above `cwd`.
 */
export function nearestFolder(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const owners = ownersIn(folder);
    if (owners === undefined) return folder;
    if (folder !== cwd) for (const owner of owners) checkOwner(owner, folder);
    if (owners.length > 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Owners of the configuration files in a folder; undefined if it may not be looked into, which reading the file reports. */
function ownersIn(folder: string): readonly number[] | undefined {
  try {
    return FILE_NAMES.flatMap((name) => lstatSync(join(folder, name), { throwIfNoEntry: false })?.uid ?? []);
  } catch {
    return undefined;
  }
}

/** In a folder such as /tmp, another user may have put a file or a link: what it names would run with the rights of this user. */
function checkOwner(owner: number, folder: string): void {
  const own = process.geteuid?.();
  if (own === undefined || owner === own || owner === 0) return;
  throw new ProcmanError(
    "configuration-missing",
    `Cannot use the configuration in ${folder}, which lies above this folder: it belongs to ${userInText(owner)}; if it is the right one, name it with --config`,
  );
}
