/** `procman add`: adds a program to the configuration file, and starts it: one command from nothing to running. */
import { basename, dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { withConfig } from "../options.ts";

/** Programs whose first argument names what they run. */
const INTERPRETERS = /^(node|bun|deno|tsx|ts-node|npx|python[\d.]*|ruby|perl|php|java|sh|bash|zsh)$/;

export function define(parent: Command): void {
  withConfig(
    parent
      .command("add")
      .description(
        "Adds a program to the configuration file (which is created if there is none) and starts it: in the running procman, as `procman reload` does, or by starting procman in the background. Further settings: edit the file.",
      )
      .argument(
        "<command...>",
        'the program and its arguments, after "--"; one argument with spaces is a command line for /bin/sh',
      )
      .option("--id <id>", "name of the process (default: that of the program or its script)"),
  ).action(add);
}

type Options = { readonly id?: string; readonly config?: string };

async function add(words: readonly string[], { id: given, config: path }: Options): Promise<void> {
  const [
    { displayPath, read },
    { check },
    { appendProcess, processIn },
    init,
    { createFile },
    { appendToFile },
    { isRunning },
  ] = await Promise.all([
    import("../../core/config/config-file.ts"),
    import("../../core/config/load.ts"),
    import("../../core/config/edit/edit.ts"),
    import("./init-command.ts"),
    import("../edit-file.ts"),
    import("./append-command.ts"),
    import("../unapplied.ts"),
  ]);
  const { fileToCreate, nameOf, starter } = init;
  const cwd = startFolder(path);
  const cmd = words.length === 1 ? (words[0] ?? "") : words.map(shellQuote).join(" ");
  const id = given ?? nameOf(programIn(words.length === 1 ? cmd.trim().split(/\s+/) : words));
  const present = existing(() => read(path, cwd));
  const file = present?.file ?? fileToCreate(path, cwd);
  const added = { id, cmd, ...(dirname(file) !== cwd && statIfSeen(cwd)?.isDirectory() && { cwd }), autostart: true };
  const shownAs = displayPath(file, cwd);
  if (present !== undefined) {
    const same = processIn(present.text, id);
    if (same !== undefined && !isDeepStrictEqual(same, added))
      throw new ProcmanError(
        "usage",
        `Cannot add ${JSON.stringify(id)}: ${shownAs} has another process with this id; choose one by --id`,
      );
    await appendToFile(added, file);
  } else {
    const text = appendProcess(starter(nameOf(dirname(file))), added);
    check({ file, shownAs, text });
    await createFile(file, text);
    process.stdout.write(`${shownAs}: created with ${JSON.stringify(id)}\n`);
  }
  if (isRunning(file)) return (await import("./reload-command.ts")).reload({ config: file, wait: true });
  return (await import("../detach.ts")).runDetached({ config: file });
}

/** undefined: there is no file, or it can't be used; then the attempt to create it reports the reason. */
function existing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProcmanError && error.code === "configuration-missing") return undefined;
    throw error;
  }
}

/** What is run: of `node --inspect app/server.js` the script. Without folder and extension. */
function programIn(words: readonly string[]): string {
  const [first = "", ...rest] = words.filter((word) => !/^[A-Za-z_]\w*=/.test(word));
  const script = INTERPRETERS.test(basename(first)) ? rest.find((word) => !word.startsWith("-")) : undefined;
  const name = basename(script ?? first);
  return name.replace(/(.)\.[A-Za-z]{1,4}$/, "$1");
}
