/** `procman __complete`: what the shells' scripts ask for. Fast, and silent whatever is wrong: it is called while somebody types. */
import { Command } from "commander";
import { locate } from "../config/locate.ts";
import { holderOf } from "../os/lock.ts";
import { connectTo } from "../remote/connect.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { SUMMARIES } from "./overview.ts";

/** Commands whose arguments are ids. */
const WITH_IDS = ["status", "logs", "why", "next", "start", "stop", "restart", "block", "unblock", "remove"];
/** Nobody waits longer for Tab. Milliseconds. */
const PATIENCE_MS = 1_000;

type Candidate = { readonly value: string; readonly text?: string };

/** The candidates for the last of these words (those after `procman`), one a line; a summary follows after a tab. */
export async function complete(words: readonly string[]): Promise<string> {
  const current = words.at(-1) ?? "";
  const candidates = await candidatesFor(words.slice(0, -1), current);
  return candidates
    .filter(({ value }) => value.startsWith(current))
    .map(({ value, text }) => `${value}${text === undefined ? "" : `\t${text}`}\n`)
    .join("");
}

async function candidatesFor([name, ...before]: readonly string[], current: string): Promise<readonly Candidate[]> {
  if (name === undefined || (name === "help" && before.length === 0))
    return Object.entries(SUMMARIES).map(([value, text]) => ({ value, text }));
  if (!isCommand(name)) return [];
  const parent = new Command();
  (await COMMANDS[name]()).define(parent);
  const options = parent.commands[0]?.options ?? [];
  const open = options.find((option) => before.length > 0 && option.required && isOneOf(option, before.at(-1) ?? ""));
  // A file, mostly: the shell knows those itself.
  if (open !== undefined) return (open.argChoices ?? []).map((value) => ({ value }));
  if (current.startsWith("-"))
    return options.flatMap(({ long, description }) => (typeof long === "string" ? [{ value: long, text: description }] : []));
  if (name === "completion") return ["bash", "zsh", "fish"].map((value) => ({ value }));
  // The number that follows the id is nobody's to know.
  if (name === "scale") return argumentsIn(before, options).length > 0 ? [] : ids(before, true);
  return WITH_IDS.includes(name) ? ids(before) : [];
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

/** Of the running procman; of the file, when none runs. */
async function ids(before: readonly string[], clustersAlone = false): Promise<readonly Candidate[]> {
  const option = before.findIndex((word) => word === "-c" || word === "--config");
  const config = option >= 0 ? before[option + 1] : before.find((word) => word.startsWith("--config="))?.slice("--config=".length);
  const timer = setTimeout(() => process.exit(), PATIENCE_MS);
  try {
    const location = locate(config, process.cwd());
    const found = holderOf(location.stateDir) === undefined ? await configured(config) : await running(location);
    if (clustersAlone) return found.filter(({ isCluster }) => isCluster);
    return [...found, { value: "all", text: "all processes" }];
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

type Known = Candidate & { readonly isCluster: boolean };

async function running(location: Parameters<typeof connectTo>[0]): Promise<readonly Known[]> {
  const records = await (await connectTo(location)).processes();
  return records
    .flatMap((record) => [record, ...(record.instances ?? [])])
    .map(({ id, status, type }) => ({ value: id, text: status, isCluster: type === "cluster" }));
}

async function configured(config: string | undefined): Promise<readonly Known[]> {
  const { load } = await import("../config/load.ts");
  const { processes } = load(config, process.cwd());
  const clusters = new Set(processes.flatMap(({ cluster }) => cluster?.id ?? []));
  return [...[...clusters].map((id) => ({ value: id, isCluster: true })), ...processes.map(({ id }) => ({ value: id, isCluster: false }))];
}
