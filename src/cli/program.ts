/** Runs the command that the arguments name. */
import { Command } from "commander";
import { ProcmanError } from "../core/base/errors.ts";
import { didYouMean } from "../core/base/suggest.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { COMMANDS, defineCommand, isCommand, SUMMARIES } from "./commands.ts";
import { hintFor } from "./foreign-commands.ts";
import { endWith, runArguments } from "./one-command.ts";

/** `complete`: the completion for shells. */
export function runProgram(complete: (words: readonly string[]) => Promise<string>): void {
  const [name = "", ...args] = process.argv.slice(2);
  const done =
    name === "__complete"
      ? complete(args).then((text) => void process.stdout.write(text))
      : name === "__configuration"
        ? import("./import-bundle.ts").then(({ printConfiguration }) =>
            printConfiguration(args[0] ?? "", startFolder()),
          )
        : name === "help"
          ? runCommand(args[0] ?? "", ["--help"])
          : runAnywhere(name, args);
  endWith(done);
}

/** Here, or on the machine that `--host` names. */
async function runAnywhere(name: string, args: readonly string[]): Promise<void> {
  if (isCommand(name) && args.some((word) => /^--host(?:=|$)/.test(word))) {
    const { runOnHost } = await import("../satellites/hosts/on-host.ts");
    if (await runOnHost(name, COMMANDS[name], args)) return;
  }
  await runCommand(name, args);
}

async function runCommand(name: string, args: readonly string[]): Promise<void> {
  if (!isCommand(name)) throw new ProcmanError("usage", `Cannot run "${name}": ${noSuchCommand(name)}`);
  const program = new Command("procman");
  await defineCommand(name, program);
  await runArguments(program, [name, ...args], COMMANDS[name].examples);
}

function noSuchCommand(name: string): string {
  const answer = hintFor(name);
  if (answer !== undefined) return `there is no such command; ${answer}`;
  return `there is no such command.${didYouMean(name, Object.keys(SUMMARIES))} See "procman help"`;
}
