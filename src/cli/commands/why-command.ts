/** `procman why`: explains the state of a process, and how its runs ended. */
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine, printableOutput } from "../../core/base/printable.ts";
import { duration } from "../../core/base/quantity.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { HistoryEntry } from "../../core/contract/history-record.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { lastRuns } from "../../core/contract/run-history.ts";
import { type Incident, isRunEnd, type RunSummary } from "../../core/contract/run-summary.ts";
import { explain, explainCluster, explainPastRuns, keptChanges } from "../../core/contract/why.ts";
import { connect } from "../connected.ts";
import { integerTo, withTarget } from "../options.ts";
import { type Column, columnTable, type TableScreen } from "../output/columns.ts";
import { dataOfTarget, type TargetOptions, targetLocation } from "../target.ts";
import { unappliedId } from "../unapplied.ts";

const ENDS = 5;
const MAX_ENDS = 1_000;

type Options = TargetOptions & { readonly lines: number; readonly json?: boolean };

type Answer = {
  readonly incidents: readonly Incident[];
  readonly runs: readonly RunSummary[];
  readonly why: readonly string[];
} & (
  | { readonly process: ProcessRecord }
  /** procman doesn't answer: the disk has no current state. */
  | { readonly id: string }
);

export function define(parent: Command): void {
  const command = parent
    .command("why")
    .description(
      "Explains the state of a process and how its last runs ended: cause, consequence, last output, and a table of the runs. If procman isn't running, shows what it has stored on disk, with exit code 69.",
    )
    .argument("<id>", "id of a process, an instance (web-2), a cluster or a group (group:backend)")
    .option("-n, --lines <count>", "number of its last runs", integerTo(MAX_ENDS), ENDS);
  withTarget(command)
    .option("--json", "print process, incidents and runs (newest first) and the sentences")
    .action(why);
}

async function why(id: string, options: Options): Promise<void> {
  try {
    print(await present(await connect(options), id, options), options);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    if (error.code === "process-unknown") throw unappliedId(id, options) ?? error;
    if (error.exitCode !== EXIT.noDaemon || options.host !== undefined) throw error;
    // If the folder isn't readable (the error has a cause), neither is its history.
    const answers = error.cause === undefined ? await past(id, options, error.code === "service-down") : undefined;
    if (answers !== undefined) print(answers, options);
    throw error;
  }
}

/** For a cluster, the answers of its instances. */
type Answers = Answer | readonly Answer[];

async function present(client: Client, id: string, { lines }: Options): Promise<Answers> {
  const [record, changes] = await Promise.all([client.process(id), keptChanges(client)]);
  const answer = (member: ProcessRecord): Promise<Answer> => answerOf(client, member, { lines, changes });
  return record.instances === undefined
    ? answer(record)
    : [...(await clusterOf(client, record)), ...(await Promise.all(record.instances.map(answer)))];
}

/** About the cluster apart from its instances, if there is something to say. */
async function clusterOf(client: Client, record: ProcessRecord): Promise<readonly Answer[]> {
  const all = record.scale === undefined ? [] : await client.incidents(record.id, MAX_ENDS);
  const incidents = all.filter((each) => !isRunEnd(each));
  const why = explainCluster(record, incidents);
  return why.length === 0 ? [] : [{ process: record, incidents, runs: [], why }];
}

async function answerOf(
  client: Client,
  record: ProcessRecord,
  { lines: count, changes }: { readonly lines: number; readonly changes: readonly HistoryEntry[] },
): Promise<Answer> {
  // All of them: the sentences count them.
  const incidents = await client.incidents(record.id, MAX_ENDS);
  const runs = lastRuns(record, incidents, count);
  return {
    process: record,
    incidents: incidents.slice(0, count),
    runs,
    why: explain(record, incidents, Date.now(), changes),
  };
}

/** undefined if there is no history. */
async function past(id: string, { lines, ...target }: Options, isRunning: boolean): Promise<Answers | undefined> {
  const { stateDir } = targetLocation(target);
  const { membersOf, historyOf: pastOf } = await import("../../client/connection/history.ts");
  const members = membersOf(dataOfTarget(target), stateDir, id);
  const pasts = await Promise.all(members.map((member) => pastOf(stateDir, member, lines)));
  if (pasts.every(({ incidents, unended }) => incidents.length === 0 && unended === undefined)) return undefined;
  const answers = pasts.map((each) => {
    const { incidents, runs } = each;
    return { id: each.id, incidents: incidents.slice(0, lines), runs, why: explainPastRuns(each, isRunning) };
  });
  return members[0] === id ? answers[0] : answers;
}

function print(answers: Answers, { json }: Options): void {
  const text =
    json === true
      ? printableJson(answers, 2)
      : [answers]
          .flat()
          .map(({ why, runs }) => `${why.map(shown).join("\n")}${runTable(runs, process.stdout)}`)
          .join("\n\n");
  process.stdout.write(`${text}\n`);
}

/** Without colors, and without the carriage return of a line from a terminal. */
function shown(line: string): string {
  return printableLine(printableOutput(line, false));
}

const COLUMNS: readonly Column<RunSummary>[] = [
  { title: "RUN", cell: ({ run }) => (run === 0 ? "" : String(run)), isRight: true },
  { title: "STARTED", cell: ({ started, ended = "" }) => hostTime(Date.parse(started ?? ended)) },
  { title: "LASTED", cell: ({ durationMs }) => (durationMs === undefined ? "" : duration(durationMs)), isRight: true },
  { title: "HOW IT ENDED", cell: howItEnded },
];

/** With a blank line above it; empty without runs. */
function runTable(runs: readonly RunSummary[], screen: TableScreen): string {
  return runs.length === 0 ? "" : `\n\n${columnTable(COLUMNS, runs, screen)}`;
}

function howItEnded({ slot, reason, leftOut }: RunSummary): string {
  const before = leftOut === undefined ? "" : `; before it, ${leftOut} runs ended too fast to be recorded`;
  return `${slot === undefined ? "" : `(${slot}) `}${reason}${before}`;
}
