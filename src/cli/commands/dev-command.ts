/** `procman dev`: runs what a project has, in the foreground. Its own bundle does the work, and parses the arguments. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { runCached } from "../../core/os/code-cache.ts";
import { CONFIG_HELP } from "../config-option.ts";

export type DevOptions = {
  readonly config?: string;
  readonly file?: string;
  readonly profile?: string;
  readonly except?: readonly string[];
  readonly watch?: boolean;
  readonly exitWith?: string;
  readonly init?: boolean;
};

export function define(parent: Command): void {
  defineDev(parent, () => runCached(join(import.meta.dirname, "dev-main.cjs"), "exit"));
}

export function defineDev(
  parent: Command,
  action: (ids: readonly string[], options: DevOptions) => Promise<void> | void,
): void {
  parent
    .command("dev")
    .description(
      "Runs what a project has, in the foreground, until Ctrl-C: the configuration with its profile `dev`, else Procfile.dev, Procfile, or the scripts `dev` of package.json and its workspaces. The lines of all processes have their names in front; on a terminal there are keys (? shows them). Nothing is written but the state folder `.procman`. A changed file is applied at once.",
    )
    .argument(
      "[id...]",
      "ids of processes, or groups (group:backend), to run with what they depend on; -ID: all but it",
    )
    .option("-f, --file <path>", "any file that `procman import` reads: a Procfile, package.json, compose.yaml, …")
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--profile <name>", "another part of `profiles` than dev")
    .option("--except <id>", "don't run this process; the same as -ID (repeatable)", collect)
    .option("--watch", "restart on changes of files in their folder the processes that don't reload by themselves")
    .option("--exit-with <id>", "end when this process has ended, with its exit code")
    .option("--init", "write procman.jsonc for what would be run, and end")
    .action(action);
}

function collect(id: string, before: readonly string[] = []): readonly string[] {
  return [...before, id];
}

/** `-mail` is `--except mail`. `-fProcfile` is `-f Procfile` if there is such a file. */
export function withExcept(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  return words.flatMap((word, at) =>
    /^-(?![cfh]$)[a-z0-9._][\w.:-]*$/.test(word) && (end < 0 || at < end) && !isFileOption(word)
      ? ["--except", word.slice(1)]
      : [word],
  );
}

function isFileOption(word: string): boolean {
  return /^-[cf]/.test(word) && existsSync(word.slice(2));
}
