/** `procman remove`: removes a process from the configuration file. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { CONFIG_HELP } from "../config-option.ts";
import { printDone } from "../output/done.ts";

export function define(parent: Command): void {
  parent
    .command("remove")
    .description("Removes a process with the comments that belong to it; everything else stays as it is.")
    .argument("[id]", "id of the process")
    .option("--id <id>", "the same as a flag")
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--apply", "apply it to the running procman, like `procman reload`")
    .option("--json", "print file and process")
    .action(remove);
}

type Options = { readonly id?: string; readonly config?: string; readonly apply?: boolean };

async function remove(argument: string | undefined, options: Options): Promise<void> {
  const id = argument ?? options.id;
  if (id === undefined) throw new ProcmanError("usage", "Cannot remove a process: its id must be given");
  if (options.id !== undefined && options.id !== id)
    throw new ProcmanError(
      "usage",
      `Cannot remove a process: both ${JSON.stringify(id)} and ${JSON.stringify(options.id)} are given`,
    );
  const [{ read }, { checkSyntax, fileWith }, { removeProcess }, { checkEdited, isValid }, { replaceFile }] =
    await Promise.all([
      import("../../core/config/config-file.ts"),
      import("../../core/config/load.ts"),
      import("../../core/config/edit/edit.ts"),
      import("../edit-file.ts"),
      import("../edit-file.ts"),
    ]);
  const source = read(options.config, startFolder(options.config));
  // A file with other problems may be edited, since removing a process can repair it.
  checkSyntax(source);
  const home = fileWith(id, source) ?? source;
  const text = removeProcess(home.text, id);
  if (isValid(source)) checkEdited(`remove ${JSON.stringify(id)}`, source, { ...home, text });
  await replaceFile(home.file, text);
  printDone(`${home.shownAs}: removed ${JSON.stringify(id)}`, { file: home.file, process: id, changed: true });
  await (await import("../after-edit.ts")).afterEdit(options.config, options.apply);
}
