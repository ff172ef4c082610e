/** `procman append`: adds a process to the configuration file. */
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import type { Config } from "../../core/config/spec.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { CONFIG_HELP } from "../config-option.ts";
import { printDone } from "../output/done.ts";
import { type ProcessOptions, processOf, withProcessOptions } from "../process-options.ts";

export function define(parent: Command): void {
  const command = parent
    .command("append")
    .description(
      "Adds a process at the end of the list. Keeps comments and layout; nothing is written if the result would be invalid, or if the file has this process already.",
    );
  withProcessOptions(command)
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--apply", "apply it to the running procman, like `procman reload`")
    .option("--json", "print file and process, and whether the file was changed")
    .action(append);
}

/** What an edit has done. */
export type EditRecord = { readonly file: string; readonly process: string; readonly changed: boolean };

type Options = ProcessOptions & { readonly config?: string; readonly apply?: boolean };

async function append(options: Options): Promise<void> {
  await appendToFile(processOf(options, "append a process"), options.config);
  await (await import("../after-edit.ts")).afterEdit(options.config, options.apply);
}

/**
 * Adds a process at the end of the list. undefined: the file has it already, with the same fields, and is unchanged.
 *
 * @param what said after its id
 * @param print prints what was done
 * @throws {ProcmanError} `configuration-missing`, `configuration-invalid`
 */
export async function appendToFile(
  added: Readonly<Record<string, unknown>>,
  path: string | undefined,
  what = "",
  print: (text: string, record: EditRecord) => void = printDone,
): Promise<Config | undefined> {
  const [
    { read },
    { check, fileWith },
    { appendProcess, processIn },
    { checkEdited },
    { replaceFile },
    { printWarnings },
  ] = await Promise.all([
    import("../../core/config/config-file.ts"),
    import("../../core/config/load.ts"),
    import("../../core/config/edit/edit.ts"),
    import("../edit-file.ts"),
    import("../edit-file.ts"),
    import("../edit-file.ts"),
  ]);
  const source = read(path, startFolder(path));
  // Existing problems are reported with their places in the current file.
  check(source);
  const id = String(added.id);
  const known = fileWith(id, source);
  if (known !== undefined && isDeepStrictEqual(processIn(known.text, id), added)) {
    const text = `${known.shownAs}: already has this ${JSON.stringify(id)}, so nothing is changed`;
    print(text, { file: known.file, process: id, changed: false });
    return undefined;
  }
  const text = appendProcess(source.text, added);
  const config = checkEdited(`append ${JSON.stringify(id)}`, source, { ...source, text });
  await replaceFile(source.file, text);
  const { file, shownAs } = source;
  print(`${shownAs}: added ${JSON.stringify(id)}${what}`, { file, process: id, changed: true });
  printWarnings(config, { ...source, text });
  return config;
}
