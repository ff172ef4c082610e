/** `procman __complete`: what the shells' scripts ask for. Fast, and silent whatever is wrong: it is called while somebody types. */
import { Command, type Option } from "commander";
import { SCOPES } from "../contract/claims.ts";
import { CATEGORIES } from "../contract/records.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { type Candidate, clusters, ids, idsInFile, profilesInFile } from "./known.ts";
import { SUMMARIES } from "./overview.ts";

/** Commands whose arguments are ids of what runs. */
const WITH_IDS = ["status", "logs", "why", "next", "start", "stop", "restart", "block", "unblock"];
const MAX: readonly Candidate[] = [{ value: "max", text: "one for each processor" }];
/** Options whose values are parted by commas. */
const LISTS: Readonly<Record<string, readonly string[]>> = { "--category": CATEGORIES, "--scope": SCOPES };

/** The candidates for the last of these words (those after `procman`), one a line; a summary follows after a tab. */
export async function complete(words: readonly string[]): Promise<string> {
  const last = words.at(-1) ?? "";
  const parts = words.flatMap(partsOf);
  const typed = parts.at(-1) ?? "";
  const before = parts.slice(0, -1);
  // Of a list the last one is completed, and what comes before it stays.
  const current = LISTS[before.at(-1) ?? ""] === undefined ? typed : typed.slice(typed.lastIndexOf(",") + 1);
  const kept = last === "=" ? "" : last.slice(0, last.length - current.length);
  const candidates = await candidatesFor(before, current);
  return candidates
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, text }) => `${kept}${value}${text === undefined ? "" : `\t${text}`}\n`)
    .join("");
}

/** `--name=value` is two words; bash makes three of it. */
function partsOf(word: string, index: number, words: readonly string[]): readonly string[] {
  if (word === "=") return index === words.length - 1 ? [""] : [];
  const option = /^(--[a-z-]+)=(.*)$/s.exec(word);
  return option === null ? [word] : option.slice(1);
}

async function candidatesFor([name, ...before]: readonly string[], current: string): Promise<readonly Candidate[]> {
  if (name === undefined && current.startsWith("-")) return ["--help", "--version"].map((value) => ({ value }));
  if (name === undefined || (name === "help" && before.length === 0))
    return Object.entries(SUMMARIES).map(([value, text]) => ({ value, text }));
  if (!isCommand(name)) return [];
  const parent = new Command();
  (await COMMANDS[name]()).define(parent);
  const options = parent.commands[0]?.options ?? [];
  const open = options.find((option) => before.length > 0 && option.required && isOneOf(option, before.at(-1) ?? ""));
  if (open !== undefined) return valuesOf(open, before);
  if (current.startsWith("-"))
    return options.flatMap(({ long, description }) => (typeof long === "string" ? [{ value: long, text: description }] : []));
  if (name === "completion") return ["bash", "zsh", "fish"].map((value) => ({ value }));
  if (name === "scale") return scaleWords(argumentsIn(before, options).length, configIn(before));
  if (name === "remove") return idsInFile(configIn(before));
  return WITH_IDS.includes(name) ? ids(configIn(before)) : [];
}

/** A cluster, then a number, of which one has a name. */
async function scaleWords(position: number, config: string | undefined): Promise<readonly Candidate[]> {
  return position === 0 ? clusters(config) : position === 1 ? MAX : [];
}

/** Of an option. None: a file, mostly, which the shell knows itself. */
function valuesOf({ long, argChoices = [] }: Option, before: readonly string[]): readonly Candidate[] {
  if (long === "--exit-with") return idsInFile(configIn(before));
  if (long === "--profile") return profilesInFile(configIn(before));
  return (LISTS[long ?? ""] ?? argChoices).map((value) => ({ value }));
}

/** Without options and their values. */
function argumentsIn(words: readonly string[], options: readonly (Flag & { readonly required: boolean })[]): readonly string[] {
  return words.filter(
    (word, index) => !word.startsWith("-") && !options.some((option) => option.required && isOneOf(option, words[index - 1] ?? "")),
  );
}

type Flag = { readonly short?: string | undefined; readonly long?: string | undefined };

function isOneOf({ short, long }: Flag, word: string): boolean {
  return word !== "" && (word === short || word === long);
}

function configIn(before: readonly string[]): string | undefined {
  const option = before.findIndex((word) => word === "-c" || word === "--config");
  return option >= 0 ? before[option + 1] : undefined;
}
