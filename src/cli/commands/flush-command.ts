/** `procman flush`: empties the stored log and log files. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import type { DefinitionRecord } from "../../core/contract/definition-record.ts";
import type { FlushRecord } from "../../core/contract/records.ts";
import { connect } from "../connected.ts";
import { IDS_HELP, withTarget } from "../options.ts";
import { reportRefusal } from "../output/error-report.ts";
import type { TargetOptions } from "../target.ts";

type Options = TargetOptions & { readonly yes?: boolean; readonly json?: boolean };

export function define(parent: Command): void {
  withTarget(
    parent
      .command("flush")
      .description(
        "Without ids, deletes the stored output of all processes and empties their log files, while they are being written: later lines stay, and no line is damaged. With ids, empties only the log files of these processes, as the stored log is one for all. Entries of procman itself (starts, ends, requests), what `procman why` shows, and rotated files stay.",
      ),
  )
    .argument("[id...]", IDS_HELP)
    .option("-y, --yes", "don't ask")
    .option("--json", "print the API record")
    .action(flush);
}

async function flush(ids: readonly string[], { yes, json, ...target }: Options): Promise<void> {
  const client = await connect(target);
  const chosen = ids.length === 0 || ids.includes("all") ? ["all"] : [...new Set(ids)];
  if (yes !== true) {
    const definitions = await Promise.all(chosen.map((id) => client.definitions(id)));
    await confirm(chosen.includes("all"), definitions.flat());
  }
  const record = await client.flush(chosen);
  process.stdout.write(json === true ? `${printableJson(record, 2)}\n` : outcomeText(record));
  for (const { file, reason } of record.kept)
    reportRefusal(new ProcmanError("flush-refused", `Cannot empty ${file}: ${printableLine(reason)}`));
}

/** @throws {ProcmanError} `usage` without a terminal, `flush-refused` if the answer is no */
async function confirm(isAll: boolean, definitions: readonly DefinitionRecord[]): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new ProcmanError(
      "usage",
      "Cannot ask whether the logs may be emptied: standard input is not a terminal; add --yes",
    );
  const files = [...new Set(definitions.flatMap(({ stdout, stderr }) => [stdout, stderr]))].filter(
    (file) => file !== undefined,
  );
  const parts = [
    ...(isAll ? ["the stored output of all processes"] : []),
    ...(files.length === 0 ? [] : [`the content of ${files.join(", ")}`]),
  ];
  const { ask } = await import("../edit-file.ts");
  const question = {
    text: printableLine(`Delete ${parts.join(" and ")}?`),
    default: "n",
    refuse: (answer: string) => (/^(y|yes|n|no)$/i.test(answer) ? undefined : "Answer y or n"),
  };
  const [answer = "n"] =
    parts.length === 0 ? ["y"] : ((await ask([question], { input: process.stdin, output: process.stderr })) ?? []);
  if (!/^y/i.test(answer))
    throw new ProcmanError("flush-refused", "Cannot flush: the answer was no; nothing is deleted");
}

function outcomeText({ store, files }: FlushRecord): string {
  const lines = [
    ...(store ? ["stored log: emptied; procman's own entries stay"] : []),
    ...files.map((file) => `${file}: emptied`),
  ];
  return `${(lines.length === 0 ? ["nothing to empty"] : lines).join("\n")}\n`;
}
