/** Gives a configuration object the file that procman reads. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { stateDirOf } from "../config/locate.ts";
import { validateConfiguration } from "../config/validate.ts";
import { makeFolder } from "../os/folder.ts";
import { holderOf } from "../os/lock.ts";
import type { Configuration } from "./configuration.ts";
import { rooted } from "./rooted.ts";

/**
 * The path of its file: written unless a procman runs by it. `.procman/NAME/procman.json` in `cwd`, so that its state folder is
 * `.procman/NAME` beside it; below PROCMAN_STATE_DIR both are the same folder.
 *
 * @throws {ConfigurationError}
 * @throws {ProcmanError} `state-folder`
 */
export function fileFor(config: Configuration, cwd: string): string {
  const { name } = validateConfiguration(config, { cwd });
  const folder = stateDirOf(cwd, name);
  const file = join(folder, "procman.json");
  if (holderOf(stateDirOf(folder, name)) !== undefined) return file;
  try {
    makeFolder(folder, 0o700);
    const draft = `${file}.${process.pid}.tmp`;
    writeFileSync(draft, JSON.stringify(rooted(config, cwd), undefined, 2), { mode: 0o600 });
    renameSync(draft, file);
  } catch (cause) {
    throw new ProcmanError(
      "state-folder",
      `Cannot run: ${file} can't be written: ${(cause as Error).message}; PROCMAN_STATE_DIR names another place for it`,
      { cause },
    );
  }
  return file;
}
