/** `procman why`: why a process is in its state, and how its runs ended. */
import type { Command } from "commander";
import { EXIT, ProcmanError } from "../../base/errors.ts";
import type { Client } from "../../client/client.ts";
import { parseDocument } from "../../config/document.ts";
import { locate } from "../../config/locate.ts";
import { read } from "../../config/source.ts";
import type { Incident, ProcessRecord } from "../../contract/records.ts";
import { explain, recount } from "../../contract/why.ts";
import { connect } from "../../remote/connect.ts";
import { wholeTo, withConfig } from "../options.ts";

const ENDS = 5;
const MOST_ENDS = 1_000;

type Options = { readonly config?: string; readonly lines: number; readonly json?: boolean };

type Answer = { readonly incidents: readonly Incident[]; readonly why: readonly string[] } & (
  | { readonly process: ProcessRecord }
  /** None answers: what is on disk has no present. */
  | { readonly id: string }
);

export function define(parent: Command): void {
  const command = parent
    .command("why")
    .summary("tell why a process is in its state, and how its runs ended")
    .description(
      "Tells why a process is in its state and how its last runs ended: cause, what followed, and what it said before. Where no procman answers, what it has left on disk is told, with exit code 69.",
    )
    .argument("<id>", "id of a process, an instance (web-2) or a cluster")
    .option("-n, --lines <count>", "so many of its last ends", wholeTo(MOST_ENDS), ENDS);
  withConfig(command).option("--json", "print process, incidents (newest first) and the sentences").action(why);
}

async function why(id: string, options: Options): Promise<void> {
  try {
    print(await present(await connect(options.config), id, options), options);
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon) throw error;
    // What may not be read has a cause, and nothing else of it may be read either.
    const answers = error.cause === undefined ? await past(id, options, error.code === "service-down") : undefined;
    if (answers !== undefined) print(answers, options);
    throw error;
  }
}

/** Of a cluster, those of its instances. */
type Answers = Answer | readonly Answer[];

async function present(client: Client, id: string, { lines }: Options): Promise<Answers> {
  const record = await client.process(id);
  return record.instances === undefined
    ? answerOf(client, record, lines)
    : Promise.all(record.instances.map((member) => answerOf(client, member, lines)));
}

async function answerOf(client: Client, record: ProcessRecord, count: number): Promise<Answer> {
  const incidents = await client.incidents(record.id, count);
  return { process: record, incidents, why: explain(record, incidents) };
}

/** undefined: there is nothing. */
async function past(id: string, { config, lines }: Options, isRunning: boolean): Promise<Answers | undefined> {
  const { stateDir } = locate(config, process.cwd());
  const { membersOf, pastOf } = await import("../../remote/past.ts");
  const members = membersOf(parseDocument(read(config, process.cwd()).text).data, stateDir, id);
  const pasts = await Promise.all(members.map((member) => pastOf(stateDir, member, lines)));
  if (pasts.every(({ incidents, unended }) => incidents.length === 0 && unended === undefined)) return undefined;
  const answers = pasts.map((each) => ({ id: each.id, incidents: each.incidents, why: recount(each, isRunning) }));
  return members[0] === id ? answers[0] : answers;
}

function print(answers: Answers, { json }: Options): void {
  const text =
    json === true
      ? JSON.stringify(answers, undefined, 2)
      : [answers]
          .flat()
          .map((each) => each.why.join("\n"))
          .join("\n\n");
  process.stdout.write(`${text}\n`);
}
