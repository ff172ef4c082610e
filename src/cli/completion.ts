/** `procman __complete`, called by the shells' scripts. It must be fast, and errors are silent, because it runs while a user types. */
import { Command, type Option } from "commander";
import { allHosts, hostGroups } from "../client/connection/host-file.ts";
import { SIGNALS } from "../core/base/signals.ts";
import { CATEGORIES } from "../core/contract/records.ts";
import { SCOPES } from "../core/contract/token-claims.ts";
import { defineCommand, isCommand, SUMMARIES } from "./commands.ts";
import {
  type Completion,
  clusters,
  entries,
  groupNamesInFile,
  groupsInFile,
  ids,
  idsInFile,
  profilesInFile,
} from "./completion-candidates.ts";
import { HOST_HELP, NAME_HELP } from "./config-option.ts";
import { runningNames, type TargetOptions } from "./target.ts";

const MAX: readonly Completion[] = [{ value: "max", text: "one per processor" }];
const SIZES: readonly Completion[] = [...MAX, { value: "auto", text: "by its load again" }];
/** Options whose values are separated by commas. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  "--category": CATEGORIES,
  "--scope": SCOPES,
  "--host": [],
};

/** Options with values that are checked together with the file. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "--restart": ["always", "error", "never"],
  "--init": ["systemd", "launchd", "openrc", "runit", "s6", "cron"],
};

/** Candidates for the last of these words (those after `procman`), one a line, with a summary after a tab. */
export async function complete(words: readonly string[]): Promise<string> {
  const { whole, cut } = withoutSplitSelector(words);
  const last = whole.at(-1) ?? "";
  const parts = whole.flatMap(partsOf);
  const typed = parts.at(-1) ?? "";
  const before = parts.slice(0, -1);
  // In a list, the last item is completed; the previous ones stay.
  const current = LISTS[before.at(-1) ?? ""] === undefined ? typed : typed.slice(typed.lastIndexOf(",") + 1);
  const kept = last === "=" || cut > 0 ? "" : last.slice(0, last.length - current.length);
  const candidates = await candidatesFor(before, current);
  return candidates
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, text }) => `${kept}${value.slice(cut)}${text === undefined ? "" : `\t${text}`}\n`)
    .join("");
}

/** bash splits `group:NAME` into three words and replaces only the last one; `cut`: characters that it keeps. */
function withoutSplitSelector(words: readonly string[]): { readonly whole: readonly string[]; readonly cut: number } {
  const at = words.lastIndexOf(":");
  if (at < 1 || at < words.length - 2) return { whole: words, cut: 0 };
  const [kept, typed = ""] = [`${words[at - 1]}:`, words[at + 1]];
  return { whole: [...words.slice(0, at - 1), `${kept}${typed}`], cut: kept.length };
}

/** `--name=value` counts as two words; bash splits it into three. */
function partsOf(word: string, index: number, words: readonly string[]): readonly string[] {
  if (word === "=") return index === words.length - 1 ? [""] : [];
  const option = /^(--[a-z-]+)=(.*)$/s.exec(word);
  return option === null ? [word] : option.slice(1);
}

async function candidatesFor([name, ...before]: readonly string[], current: string): Promise<readonly Completion[]> {
  if (name === undefined && current.startsWith("-")) return ["--help", "--version"].map((value) => ({ value }));
  if (name === undefined || (name === "help" && before.length === 0))
    return Object.entries(SUMMARIES).map(([value, text]) => ({ value, text }));
  if (!isCommand(name)) return [];
  const parent = new Command();
  await defineCommand(name, parent);
  const { options = [], registeredArguments: [argument] = [] } = parent.commands[0] ?? {};
  const open = options.find((option) => before.length > 0 && option.required && isOneOf(option, before.at(-1) ?? ""));
  if (open !== undefined) return valuesOf(open, before);
  if (current.startsWith("-"))
    return options.flatMap(({ long, description }) =>
      typeof long === "string" ? [{ value: long, text: description }] : [],
    );
  if (name === "completion") return ["bash", "zsh", "fish"].map((value) => ({ value }));
  const words = ARGUMENTS[name];
  if (words !== undefined) return words(argumentsIn(before, options).length, targetIn(before));
  if (name === "run" || name === "dev") return [...idsInFile(configIn(before)), ...groupsInFile(configIn(before))];
  if (name === "remove") return idsInFile(configIn(before));
  return argument?.name() === "id" ? ids(targetIn(before)) : [];
}

/** Commands whose arguments differ. */
const ARGUMENTS: Readonly<Record<string, (position: number, target: TargetOptions) => Promise<readonly Completion[]>>> =
  {
    diff: async (position, target) => (position < 2 ? entries(target) : []),
    exec: async (position, target) => (position === 0 ? ids(target) : []),
    history: async (position, target) =>
      position === 0 ? ["list", "show"].map((value) => ({ value })) : entries(target),
    host: async (position) => (position === 0 ? ["add", "list", "remove"].map((value) => ({ value })) : []),
    rollback: async (position, target) => (position === 0 ? entries(target) : []),
    scale: scaleWords,
    signal: async (position, target) =>
      position === 0 ? SIGNALS.map((name) => ({ value: name.slice("SIG".length) })) : ids(target),
  };

/** The first argument is a cluster, the second a number, `max` or `auto`. */
async function scaleWords(position: number, target: TargetOptions): Promise<readonly Completion[]> {
  return position === 0 ? clusters(target) : position === 1 ? SIZES : [];
}

/** Values of an option; empty for files, which the shell completes itself. */
function valuesOf({ long, description, argChoices = [] }: Option, before: readonly string[]): readonly Completion[] {
  if (long === "--exit-with" || long === "--except" || long === "--process") return idsInFile(configIn(before));
  if (description === HOST_HELP)
    return [
      ...allHosts().map(({ name, url }) => ({ value: name, text: url })),
      ...hostGroups().map((value) => ({ value, text: "group of hosts" })),
    ];
  if (description === NAME_HELP) return runningNames().map((value) => ({ value }));
  if (long === "--profile") return profilesInFile(configIn(before));
  if (long === "--group") return groupNamesInFile(configIn(before)).map((value) => ({ value }));
  return (LISTS[long ?? ""] ?? VALUES[long ?? ""] ?? argChoices).map((value) => ({ value }));
}

/** The arguments without options and their values. */
function argumentsIn(
  words: readonly string[],
  options: readonly (CompletionFlag & { readonly required: boolean })[],
): readonly string[] {
  return words.filter(
    (word, index) =>
      !word.startsWith("-") && !options.some((option) => option.required && isOneOf(option, words[index - 1] ?? "")),
  );
}

type CompletionFlag = { readonly short?: string | undefined; readonly long?: string | undefined };

function isOneOf({ short, long }: CompletionFlag, word: string): boolean {
  return word !== "" && (word === short || word === long);
}

function configIn(before: readonly string[]): string | undefined {
  return valueIn(before, ["-c", "--config"]);
}

function targetIn(before: readonly string[]): TargetOptions {
  return { config: configIn(before), name: valueIn(before, ["--name"]), host: valueIn(before, ["--host"]) };
}

function valueIn(before: readonly string[], flags: readonly string[]): string | undefined {
  const option = before.findIndex((word) => flags.includes(word));
  return option >= 0 ? before[option + 1] : undefined;
}
