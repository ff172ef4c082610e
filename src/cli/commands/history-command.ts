/** `procman history`: lists the configurations that were applied, and shows one of them. */
import type { Command } from "commander";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import { mayBeSeveral } from "../../client/connection/host-file.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printable, printableJson, printableLine } from "../../core/base/printable.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { Control } from "../../core/contract/control.ts";
import type { HistoryDetail, HistoryEntry } from "../../core/contract/history-record.ts";
import { changeText, requesterText, resultText } from "../../core/contract/history-words.ts";
import { rolloutText } from "../../core/contract/rollout-words.ts";
import { showKept } from "../kept-history.ts";
import { integerTo, withTarget } from "../options.ts";
import { type Column, columnTable } from "../output/columns.ts";
import { planTable } from "../plan-table.ts";
import type { TargetOptions } from "../target.ts";

const SHOWN = 20;
const MAX_SHOWN = 100;

export const ENTRY_HELP = "number of an entry, active (in force) or previous (the one before it)";

type Options = TargetOptions & { readonly lines?: number; readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("history")
    .description(
      "The configurations that were applied: when, by whom, what each changed, and what became of it. If procman isn't running, shows what it has stored on disk, with exit code 69.",
    );
  withTarget(
    command.command("list", { isDefault: true }).summary("list them, newest first (what `procman history` does)"),
  )
    .option("-n, --lines <count>", `number of entries (default: ${SHOWN})`, integerTo(MAX_SHOWN))
    .option("--json", "print the API records, newest first")
    .allowExcessArguments()
    .action((options: Options, { args }: Command) => {
      const [entry] = args;
      if (entry !== undefined)
        throw new ProcmanError(
          "usage",
          `Cannot list the history with ${JSON.stringify(entry)}: "procman history show ${printable(entry)}" shows an entry`,
        );
      return list(options);
    });
  withTarget(command.command("show").summary("show one with its plan and its texts").argument("<entry>", ENTRY_HELP))
    .option("--json", "print the API record")
    .action(show);
}

async function list({ lines = SHOWN, json = false, ...target }: Options): Promise<void> {
  if (target.host !== undefined && mayBeSeveral(target.host)) return listOfHosts(target.host, lines, json);
  await showKept(target, async (history) => {
    const entries = await history.history(lines);
    if (json) return void process.stdout.write(`${printableJson(entries, 2)}\n`);
    if (entries.length === 0) return void process.stderr.write("procman: no configuration was kept yet\n");
    process.stdout.write(`${columnTable(COLUMNS, entries, process.stdout)}\n`);
  });
}

/** @throws {ProcmanError} `usage` */
async function listOfHosts(names: string, lines: number, json: boolean): Promise<void> {
  const { printLists } = await import("../../satellites/hosts/several-hosts.ts");
  const question = {
    words: ["history", "--json", "--lines", String(lines)],
    // What is on the disk, if procman doesn't run there.
    codes: [EXIT.done, EXIT.noDaemon],
    check: (value: unknown) => checkAnswer("history", value),
    ask: (client: Pick<Control, "history">) => client.history(lines),
  };
  await printLists(names, question, {
    json,
    name: "entries",
    columns: COLUMNS,
    missing: { none: "none", status: "RESULT", why: "WHAT CHANGED" },
  });
}

const COLUMNS: readonly Column<HistoryEntry>[] = [
  { title: "ENTRY", cell: ({ number }) => String(number), isRight: true },
  { title: "APPLIED", cell: ({ time }) => hostTime(Date.parse(time)), rank: 1 },
  { title: "BY", cell: requesterText, rank: 2 },
  { title: "RESULT", cell: resultText },
  { title: "PROFILE", cell: ({ profile = "" }) => profile, isOptional: true, rank: 0 },
  { title: "WHAT CHANGED", cell: changeText },
];

async function show(entry: string, { json = false, ...target }: Options): Promise<void> {
  await showKept(target, async (history) => {
    const detail = await history.historyEntry(entry);
    process.stdout.write(`${json ? printableJson(detail, 2) : printable(detailText(detail))}\n`);
  });
}

function detailText(detail: HistoryDetail): string {
  const { number, time, problem, why, rollout, configFile, profile, processes, settings = [], files, version } = detail;
  const machine = detail.isForeign === true ? ` on another machine, ${detail.host}` : "";
  return [
    `Entry ${number}: ${resultText(detail)}, ${hostTime(Date.parse(time))} (${why}${rollout === undefined ? "" : `, ${rolloutText(rollout)}`}), procman ${version}${machine}.`,
    `The file was ${configFile}${profile === undefined ? "" : `, the profile "${profile}"`}.`,
    ...releaseLines(detail),
    ...(problem === undefined ? [] : [printableLine(`${problem}.`)]),
    ...(processes === undefined
      ? []
      : ["", planTable({ configFile, processes, settings, warnings: [] }, process.stdout.columns)]),
    ...files.flatMap(({ file, text, problem: damage }) => [
      "",
      `--- ${file}`,
      text === undefined ? `It can't be shown: ${damage}` : text.replace(/\n$/, ""),
    ]),
  ].join("\n");
}

function releaseLines({ release, releaseBefore: before, result }: HistoryDetail): readonly string[] {
  if (release === undefined) return [];
  const was = result === "rolled-back" ? "was taken back" : "was put in use";
  return [
    printableLine(
      `The release ${release} ${was}; ${before === undefined ? "there was none" : `${before} was in use`} before it.`,
    ),
  ];
}
