/** Runs the command that the arguments name, and reports its errors. */
import { Command, CommanderError, type Option } from "commander";
import { EXIT, ProcmanError } from "../core/base/errors.ts";
import { didYouMean } from "../core/base/suggest.ts";
import { withoutEnd } from "../core/base/text-end.ts";
import { ACTIONS } from "../core/contract/control.ts";
import { COMMANDS, defineCommand, isCommand, SUMMARIES } from "./commands.ts";
import { hintFor, optionHintIn } from "./foreign-commands.ts";
import { reportError } from "./output/error-report.ts";

/** `all` stands for all processes. */
const TAKES_ALL: ReadonlySet<string> = new Set(ACTIONS);

/** Arguments of another program follow. */
const TAKES_PROGRAM: ReadonlySet<string> = new Set(["add", "exec"]);

/** `complete`: the completion for shells. */
export function runProgram(complete: (words: readonly string[]) => Promise<string>): void {
  const [name = "", ...args] = process.argv.slice(2);
  const done =
    name === "__complete"
      ? complete(args).then((text) => void process.stdout.write(text))
      : name === "help"
        ? runCommand(args[0] ?? "", ["--help"])
        : runAnywhere(name, args);
  void done.then(
    () => {
      // A command may have set another exit code.
      process.exitCode ??= EXIT.done;
    },
    (error: unknown) => {
      process.exitCode = reportError(error);
    },
  );
}

/** Here, or on the machine that `--host` names. */
async function runAnywhere(name: string, args: readonly string[]): Promise<void> {
  if (isCommand(name) && args.some((word) => /^--host(?:=|$)/.test(word))) {
    const { runOnHost } = await import("../satellites/hosts/on-host.ts");
    if (await runOnHost(name, COMMANDS[name].reach, args)) return;
  }
  await runCommand(name, args);
}

async function runCommand(name: string, args: readonly string[]): Promise<void> {
  if (!isCommand(name)) throw new ProcmanError("usage", `Cannot run "${name}": ${noSuchCommand(name)}`);
  const { examples } = COMMANDS[name];
  const program = new Command("procman").exitOverride().configureHelp({ showGlobalOptions: false });
  await defineCommand(name, program);
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

function noSuchCommand(name: string): string {
  const answer = hintFor(name);
  if (answer !== undefined) return `there is no such command; ${answer}`;
  return `there is no such command.${didYouMean(name, Object.keys(SUMMARIES))} See "procman help"`;
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` as part of a sentence. */
function inOurWords(message: string, command: string): string {
  const words = withoutEnd(
    message.replace(/^error: /, "").replace(/\n\(Did you mean (.*)\?\)/, " (did you mean $1?)"),
    ". \n",
  );
  return words === "missing required argument 'id'" && TAKES_ALL.has(command)
    ? `${words}: the id of a process, or "all"`
    : words;
}
