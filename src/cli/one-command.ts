/** Parses the arguments of one command, runs it, and reports its errors. */
import { type Command, CommanderError, type Option } from "commander";
import { EXIT, ProcmanError } from "../core/base/errors.ts";
import { withoutEnd } from "../core/base/text-end.ts";
import { ACTIONS } from "../core/contract/control.ts";
import { optionHintIn } from "./foreign-commands.ts";
import { reportError } from "./output/error-report.ts";

/** `all` stands for all processes. */
const TAKES_ALL: ReadonlySet<string> = new Set(ACTIONS);

/** Arguments of another program follow. */
const TAKES_PROGRAM: ReadonlySet<string> = new Set(["add", "exec"]);

/** Sets the exit code of this process to that of the work, when it is done. */
export function endWith(work: Promise<void>): void {
  void work.then(
    () => {
      // A command may have set another exit code.
      process.exitCode ??= EXIT.done;
    },
    (error: unknown) => {
      process.exitCode = reportError(error);
    },
  );
}

/**
 * `program`: has the command alone. `examples`: what follows `procman `.
 *
 * @throws {ProcmanError} `usage`, and those of the command
 */
export async function runArguments(
  program: Command,
  [name = "", ...args]: readonly string[],
  examples: readonly string[] = [],
): Promise<void> {
  program.exitOverride().configureHelp({ showGlobalOptions: false });
  for (const command of program.commands) {
    for (const each of [command, ...command.commands]) {
      each.exitOverride().configureOutput({ outputError: () => undefined });
      for (const option of each.options) refuseEmpty(option, name);
    }
    command.addHelpText("after", examplesText(examples));
  }
  try {
    await program.parseAsync([name, ...args], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    const remedy = remedyFor(error, name, args);
    throw new ProcmanError("usage", `Cannot run "procman ${name}": ${inOurWords(error.message, name)}; ${remedy}`);
  }
}

function remedyFor({ code, message }: CommanderError, name: string, args: readonly string[]): string {
  if (TAKES_PROGRAM.has(name) && code === "commander.unknownOption" && !args.includes("--"))
    return 'options of the program stand behind "--"';
  return optionHintIn(message) ?? `see "procman help ${name}"`;
}

/** The lines after the options. */
function examplesText(examples: readonly string[]): string {
  return `\n${examples.length === 1 ? "Example" : "Examples"}:\n${examples.map((example) => `  procman ${example}`).join("\n")}`;
}

/** An empty value is what an unset variable leaves in a script: taken as not given, the command would act on something else. */
function refuseEmpty(option: Option, name: string): void {
  const parse = option.parseArg;
  // Every line has the empty text.
  if (!option.required || option.long === "--search") return;
  option.argParser((value: string, previous: unknown) => {
    if (value === "")
      throw new ProcmanError("usage", `Cannot run "procman ${name}": the value of ${option.long} is empty`);
    return parse === undefined ? value : parse(value, previous);
  });
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` as part of a sentence. */
function inOurWords(message: string, command: string): string {
  const words = withoutEnd(
    message.replace(/^error: /, "").replace(/\n\(Did you mean (.*)\?\)/, " (did you mean $1?)"),
    ". \n",
  );
  if (words !== "missing required argument 'id'") return words;
  // After --key each word is a key.
  if (command === "send") return `${words}: the id of a process, before the keys of --key`;
  return TAKES_ALL.has(command) ? `${words}: the id of a process, or "all"` : words;
}
