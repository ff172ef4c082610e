/** The folder of a `procman run` without `--config`. Small, because each start loads it. */
import { ProcmanError } from "../core/base/errors.ts";
import { nearestFolder } from "../core/config/nearest-folder.ts";
import { startFolder } from "../core/os/start-folder.ts";

/** A procman keeps to the folder of its file, whatever appears above it or between the two. False: an error. */
export function settlesFolder(args: readonly string[]): boolean {
  if (process.env.PROCMAN_CONFIG || args.some((arg) => /^(?:-c.*|--config|--config=.*)$/.test(arg))) return true;
  try {
    const folder = nearestFolder(startFolder());
    if (folder !== undefined) process.argv.splice(3, 0, "--config", folder);
    return true;
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return false;
  }
}
