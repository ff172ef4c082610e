/** Options and arguments shared by commands. */
import { type Command, InvalidArgumentError } from "commander";
import type { PlanOptions } from "../core/contract/control.ts";
import { selectorOf, selectorsIn, unknownProcess } from "../core/contract/groups.ts";
import type { ProcessRecord } from "../core/contract/records.ts";
import { CONFIG_HELP, HOST_HELP, NAME_HELP } from "./config-option.ts";
import type { TargetOptions } from "./target.ts";
import { unappliedId } from "./unapplied.ts";

export function withConfig(command: Command): Command {
  return command.option("-c, --config <path>", CONFIG_HELP).option("--host <name>", HOST_HELP);
}

/** Options of every command that talks to a running procman. */
export function withTarget(command: Command): Command {
  return withConfig(command).option("--name <name>", NAME_HELP);
}

export function secondsTo(max: number): (text: string) => number {
  return parser((value) => value >= 0 && value <= max, `a number of seconds, at most ${max}`);
}

export function integerTo(max: number, min = 1): (text: string) => number {
  return parser(
    (value) => Number.isInteger(value) && value >= min && value <= max,
    `a whole number from ${min} to ${max}`,
  );
}

function parser(isAllowed: (value: number) => boolean, allowed: string): (text: string) => number {
  return (text) => {
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (!isAllowed(value)) throw new InvalidArgumentError(`Allowed: ${allowed}.`);
    return value;
  };
}

/** What most commands take as ids. */
export const IDS_HELP = "ids of processes, instances (web-2), clusters or groups (group:backend)";

/**
 * The records of these ids (processes, instances, clusters or groups; all records for no id or `all`), in order.
 *
 * @param target whose configuration file may have an id that is not applied yet
 * @throws {ProcmanError} `process-unknown`
 */
export function selected(
  records: readonly ProcessRecord[],
  ids: readonly string[],
  target: TargetOptions = {},
): readonly ProcessRecord[] {
  const wanted = new Set(ids);
  if (wanted.size === 0 || wanted.has("all")) return records;
  const flat = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  const isWanted = ({ id, groups = [] }: ProcessRecord): boolean =>
    wanted.has(id) || groups.some((group) => wanted.has(selectorOf(group)));
  for (const id of wanted) {
    const selectors = selectorsIn(flat);
    if (!selectors.includes(id) && !flat.some((record) => record.id === id)) {
      const known = flat.map((record) => record.id);
      throw unappliedId(id, target) ?? unknownProcess(id, known, selectors);
    }
  }
  return records.flatMap((record) => (isWanted(record) ? [record] : (record.instances ?? []).filter(isWanted)));
}

/** What `--profile NAME` and `--no-profile` ask for. */
export function profileOption(profile: string | false | undefined): PlanOptions {
  return profile === undefined ? {} : { profile: profile === false ? null : profile };
}
