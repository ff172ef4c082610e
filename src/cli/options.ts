/** Options that several commands have. */
import { type Command, InvalidArgumentError } from "commander";

export function withConfig(command: Command): Command {
  return command.option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)");
}

export function secondsTo(most: number): (text: string) => number {
  return parser((value) => value >= 0 && value <= most, `a number of seconds, at most ${most}`);
}

export function wholeTo(most: number): (text: string) => number {
  return parser((value) => Number.isInteger(value) && value >= 1 && value <= most, `a whole number from 1 to ${most}`);
}

function parser(isAllowed: (value: number) => boolean, allowed: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!isAllowed(value)) throw new InvalidArgumentError(`Allowed: ${allowed}.`);
    return value;
  };
}
