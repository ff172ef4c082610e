/** `procman diff`: shows how the texts of configurations differ. */
import type { Command } from "commander";
import { EXIT } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import type { HistoryDiff } from "../../core/contract/history-record.ts";
import { hunkPlace } from "../../core/contract/history-words.ts";
import { showKept } from "../kept-history.ts";
import { withTarget } from "../options.ts";
import { type Painter, painterFor } from "../output/format.ts";
import type { TargetOptions } from "../target.ts";
import { ENTRY_HELP } from "./history-command.ts";

type Options = TargetOptions & { readonly exitCode?: boolean; readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("diff")
    .description(
      "Shows how the file, and those that it includes, differ from a configuration that was applied, or how two of these differ. What may be secret shows as ***. If procman isn't running, compares what it has stored on disk, with exit code 69.",
    )
    .argument("[from]", `${ENTRY_HELP} (default: active)`)
    .argument("[to]", "the same (default: the files as they are now)");
  withTarget(command)
    .option("--exit-code", "exit with 2 if they differ, else with 0")
    .option("--json", "print the API record")
    .action(diff);
}

async function diff(
  from = "active",
  to: string | undefined,
  { exitCode = false, json = false, ...target }: Options,
): Promise<void> {
  await showKept(target, async (history) => {
    const found = await history.diff(from, to);
    if (json) process.stdout.write(`${printableJson(found, 2)}\n`);
    else if (found.files.length > 0) process.stdout.write(`${diffText(found, painterFor(process.stdout))}\n`);
    else
      process.stderr.write(
        `procman: ${nameOf(from)} and ${to === undefined ? "the file" : nameOf(to)} have the same text\n`,
      );
    if (exitCode && found.files.length > 0) process.exitCode = EXIT.changed;
  });
}

const nameOf = (entry: string): string => (/^\d/.test(entry) ? `entry ${entry}` : entry);

const COLORS: Readonly<Record<string, number>> = { "-": 31, "+": 32 };
const PLACE = 36;

/** As `diff -u` writes it, with colors on a terminal. */
function diffText({ from, to, files }: HistoryDiff, paint: Painter): string {
  return files
    .flatMap(({ file, change, hunks }) => [
      `--- ${change === "added" ? "/dev/null" : `${file} (${from})`}`,
      `+++ ${change === "removed" ? "/dev/null" : `${file} (${to})`}`,
      ...hunks.flatMap((hunk) => [
        paint(PLACE, hunkPlace(hunk)),
        ...hunk.lines.map((line) => {
          const color = COLORS[line.charAt(0)];
          const text = printable(line);
          return color === undefined ? text : paint(color, text);
        }),
      ]),
    ])
    .join("\n");
}
