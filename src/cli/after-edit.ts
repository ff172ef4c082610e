/** What follows an edit of the configuration file that a procman runs. */
import { asTyped } from "./config-option.ts";
import { printRemark } from "./output/done.ts";
import { isJson } from "./output/error-report.ts";
import { isRunning } from "./unapplied.ts";

/**
 * After an edit of the file: applies it, or says how, if a procman runs it.
 *
 * @throws {ProcmanError} those of a reload
 */
export async function afterEdit(config: string | undefined, apply = false): Promise<void> {
  if (!isRunning(config)) {
    if (apply)
      process.stderr.write('procman: nothing to apply, because procman is not running; "procman run" starts it\n');
    return;
  }
  if (!apply) {
    printRemark(`procman is running without this change; "${asTyped("reload", { config })}" applies it`);
    return;
  }
  const { reload } = await import("./commands/reload-command.ts");
  await reload({ config, wait: true, showsPlan: !isJson() });
}
