/** Starts procman in the background for a program that uses the library, and passes it the log. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Configuration } from "../../../generated/configuration.ts";
import { outputOf, START_TIMEOUT_MS, startDaemon, waitForStart } from "../../client/connection/daemon.ts";
import { LogFormatter } from "../../client/connection/log-format.ts";
import type { LogReader } from "../../client/connection/log-reader.ts";
import { packageRoot } from "../../client/connection/package-root.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { withAbsolutePaths } from "../../core/config/absolute-paths.ts";
import { stateDirOf } from "../../core/config/find-config.ts";
import type { Config } from "../../core/config/spec.ts";
import { resolveConfiguration } from "../../core/config/validate.ts";
import type { LogEntry } from "../../core/contract/records.ts";
import { wantsColors } from "../../core/os/colors.ts";
import { holderOf } from "../../core/os/lock.ts";
import { ownIdentity } from "../../core/os/process-stat.ts";
import { writeInStateFolder } from "../../core/os/state-folder.ts";
import { rethrowAsync } from "./events.ts";

/** Resolves when procman answers. `detached`: it outlives this program. @throws {ProcmanError} `start-failed` */
export async function start(config: Config, detached: boolean): Promise<void> {
  const { profile } = config;
  const args = [
    ...(detached ? [] : [`--with-parent=${ownIdentity()}`]),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
  ];
  const script = join(packageRoot(fileURLToPath(import.meta.url)), "dist/procman.cjs");
  const daemon = startDaemon(config, script, args);
  const end = await waitForStart(config, daemon, START_TIMEOUT_MS).finally(() => daemon.child.unref());
  // Another program may have started it a moment earlier.
  if (end === undefined || holderOf(config.stateDir) !== undefined) return;
  const [code, signal] = end;
  const output = outputOf(daemon, end).trim();
  throw new ProcmanError(
    "start-failed",
    `Cannot run procman: it ended ${signal === null ? `with code ${code}` : `by ${signal}`}: ${output}`,
  );
}

/**
 * Writes a configuration object to a file and returns its path; not while procman runs with it. The path is
 * `.procman/NAME/procman.json` in `cwd`, so that the state folder is `.procman/NAME` beside it; below PROCMAN_STATE_DIR
 * both are the same folder.
 *
 * @throws {ConfigurationError}
 * @throws {ProcmanError} `state-folder`
 */
export function fileFor(config: Configuration, cwd: string): string {
  const { name } = resolveConfiguration(config, { cwd });
  const folder = stateDirOf(cwd, name);
  const file = join(folder, "procman.json");
  if (holderOf(stateDirOf(folder, name)) !== undefined) return file;
  writeInStateFolder(file, JSON.stringify(withAbsolutePaths(config, cwd), undefined, 2));
  return file;
}

export type LineOptions = {
  /**
   * Called with each new line of the log: output of processes, what happens to them, procman's own messages. If it
   * returns `true`,
   * `console` doesn't print the line.
   */
  readonly onLine?: (entry: LogEntry) => unknown;
  /** Print the lines to standard output, in colors on a terminal. Default: false. */
  readonly console?: boolean;
};

/** Passes new lines to `onLine` and standard output, until procman has ended or the signal is aborted. `from`: milliseconds since 1970. */
export async function passLines(
  reader: LogReader,
  options: LineOptions & { readonly from: number; readonly signal: AbortSignal },
): Promise<void> {
  const { from, onLine, console = false, signal } = options;
  if (onLine === undefined && !console) return;
  const lines = new LogFormatter(wantsColors(process.stdout));
  for await (const item of reader.follow({ from }, signal)) {
    const isTaken = item.type === "entry" && isTakenOver(item.entry, onLine);
    if (console && !isTaken)
      process.stdout.write(item.type === "entry" ? lines.line(item.entry) : lines.gap(item.bytes));
  }
}

function isTakenOver(entry: LogEntry, onLine: LineOptions["onLine"]): boolean {
  try {
    return onLine?.(entry) === true;
  } catch (error) {
    rethrowAsync(error);
    return false;
  }
}
