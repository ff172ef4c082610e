/** What commands take, as tables: of the definitions that the command line has. */
import { Command } from "commander";
import { COMMANDS, defineCommand, isCommand } from "../src/cli/commands.ts";

/** A term, and what it means. */
export type Row = readonly [term: string, meaning: string];

/** How a command is called: `procman host add`, and what follows. */
export type Usage = readonly [name: string, usage: string];

/** All commands, in the order of the table. */
export async function definedCommands(): Promise<readonly Command[]> {
  const program = new Command("procman");
  for (const name of Object.keys(COMMANDS).filter(isCommand)) await defineCommand(name, program);
  return program.commands;
}

/** Of a command with further commands: those of all of them. */
export function usagesOf(command: Command): readonly Usage[] {
  if (command.commands.length > 0) return command.commands.flatMap(usagesOf);
  const parent = command.parent?.name() ?? "procman";
  return [[[...new Set(["procman", parent, command.name()])].join(" "), command.usage()]];
}

export function descriptionOf(command: Command): string {
  return command.description() || `${command.summary().charAt(0).toUpperCase()}${command.summary().slice(1)}.`;
}

export function argumentsOf(command: Command): readonly Row[] {
  const help = command.createHelp();
  return command.registeredArguments.map((argument) => [
    help.argumentTerm(argument),
    help.argumentDescription(argument),
  ]);
}

export function optionsOf(command: Command): readonly Row[] {
  const help = command.createHelp();
  return command.options
    .filter(({ hidden }) => !hidden)
    .map((option) => [help.optionTerm(option), help.optionDescription(option)]);
}
