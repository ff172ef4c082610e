/** `procman why`: why a process is in its state, and how its runs ended. */
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import type { Incident, ProcessRecord } from "../../contract/records.ts";
import { explain } from "../../contract/why.ts";
import { connect } from "../../remote/connect.ts";
import { wholeTo, withConfig } from "../options.ts";

const ENDS = 5;
const MOST_ENDS = 1_000;

type Options = { readonly config?: string; readonly lines: number; readonly json?: boolean };

type Answer = { readonly process: ProcessRecord; readonly incidents: readonly Incident[]; readonly why: readonly string[] };

export function define(parent: Command): void {
  const command = parent
    .command("why")
    .summary("tell why a process is in its state, and how its runs ended")
    .description("Tells why a process is in its state and how its last runs ended: cause, what followed, and what it said before.")
    .argument("<id>", "id of a process, an instance (web-2) or a cluster")
    .option("-n, --lines <count>", "so many of its last ends", wholeTo(MOST_ENDS), ENDS);
  withConfig(command)
    .option("--json", "print process, incidents (newest first) and the sentences")
    .action(async (id: string, { config, lines, json }: Options) => {
      const client = await connect(config);
      const record = await client.process(id);
      const answers = await Promise.all((record.instances ?? [record]).map((member) => answerOf(client, member, lines)));
      if (json)
        return void process.stdout.write(`${JSON.stringify(record.instances === undefined ? answers[0] : answers, undefined, 2)}\n`);
      process.stdout.write(`${answers.map(({ why }) => why.join("\n")).join("\n\n")}\n`);
    });
}

async function answerOf(client: Client, record: ProcessRecord, count: number): Promise<Answer> {
  const incidents = await client.incidents(record.id, count);
  return { process: record, incidents, why: explain(record, incidents) };
}
