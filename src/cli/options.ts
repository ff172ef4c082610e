/** Options and arguments shared by commands. */
import { type Command, InvalidArgumentError } from "commander";
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { ProcessRecord } from "../contract/records.ts";
import { CONFIG_HELP } from "./config-option.ts";
import { unappliedId } from "./unapplied.ts";

export function withConfig(command: Command): Command {
  return command.option("-c, --config <path>", CONFIG_HELP);
}

export function secondsTo(max: number): (text: string) => number {
  return parser((value) => value >= 0 && value <= max, `a number of seconds, at most ${max}`);
}

export function integerTo(max: number, min = 1): (text: string) => number {
  return parser((value) => Number.isInteger(value) && value >= min && value <= max, `a whole number from ${min} to ${max}`);
}

function parser(isAllowed: (value: number) => boolean, allowed: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!isAllowed(value)) throw new InvalidArgumentError(`Allowed: ${allowed}.`);
    return value;
  };
}

/**
 * The records of these ids (processes, instances or clusters; all records for no id or `all`), in order.
 *
 * @param config path of the configuration file, which may have an id that is not applied yet
 * @throws {ProcmanError} `process-unknown`
 */
export function selected(records: readonly ProcessRecord[], ids: readonly string[], config?: string): readonly ProcessRecord[] {
  const wanted = new Set(ids);
  if (wanted.size === 0 || wanted.has("all")) return records;
  const flat = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  for (const id of wanted)
    if (!flat.some((record) => record.id === id))
      throw (
        unappliedId(id, config) ??
        new ProcmanError(
          "process-unknown",
          `Cannot find process "${id}": no process has this id.${didYouMean(
            id,
            flat.map((record) => record.id),
          )}`,
        )
      );
  return records.flatMap((record) => (wanted.has(record.id) ? [record] : (record.instances ?? []).filter(({ id }) => wanted.has(id))));
}
