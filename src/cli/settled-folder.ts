/** The folder of a `procman run` without `--config`. Small, because each start loads it. */
import { ProcmanError } from "../base/errors.ts";
import { nearestFolder } from "../config/nearest-folder.ts";

/** A procman that is started below the folder of its file keeps to that folder, whatever appears between the two. False: an error. */
export function settlesFolder(args: readonly string[]): boolean {
  if (process.env.PROCMAN_CONFIG || args.some((arg) => /^(?:-c.*|--config|--config=.*)$/.test(arg))) return true;
  try {
    const folder = nearestFolder(process.cwd());
    if (folder !== undefined && folder !== process.cwd()) process.argv.splice(3, 0, "--config", folder);
    return true;
  } catch (error) {
    // The current folder was removed, say: the service reports it.
    if (!(error instanceof ProcmanError)) return true;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return false;
  }
}
