/** One question to several machines at once, and their answers in one table. */
import { type Column, columnTable, type TableScreen } from "../../cli/output/columns.ts";
import { withProgress } from "../../cli/output/progress.ts";
import type { Client } from "../../client/client.ts";
import { connectTo } from "../../client/connection/connect.ts";
import { hostsNamed, type NamedHost } from "../../client/connection/host-file.ts";
import { apiOf } from "../../client/connection/remote-host.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import { captureRemote, jsonOf, sshHost } from "./ssh.ts";

/** A machine that doesn't answer must not hold up the others. Milliseconds. */
const PATIENCE = { connectMs: 1_000, silenceMs: 10_000, answerMs: 10_000 };

/** What one machine has answered, or why it hasn't. */
export type HostAnswer<Answer> = { readonly host: string } & (
  | { readonly answer: Answer }
  | { readonly problem: string }
);

export type HostQuestion<Answer> = {
  /** By ssh: a command that prints the answer as JSON. */
  readonly words: readonly string[];
  /** Exit codes of that command with an answer. Default: 0. */
  readonly codes?: readonly number[];
  /** @throws {ProcmanError} `service-down`: what a machine has printed is no answer */
  readonly check: (value: unknown) => void;
  /** By https, or by a socket. */
  readonly ask: (client: Client, host: NamedHost) => Promise<Answer>;
};

/** All machines are asked at once. @throws {ProcmanError} `usage` */
export function askHosts<Answer>(
  names: string,
  question: HostQuestion<Answer>,
): Promise<readonly HostAnswer<Answer>[]> {
  const hosts = hostsNamed(names);
  const open = new Set(hosts.map(({ name }) => name));
  const one = async (host: NamedHost): Promise<HostAnswer<Answer>> => {
    const answer = await answerOf(host, question);
    open.delete(host.name);
    return answer;
  };
  return withProgress(() => `asking ${[...open].join(", ")}`, Promise.all(hosts.map(one)));
}

async function answerOf<Answer>(host: NamedHost, question: HostQuestion<Answer>): Promise<HostAnswer<Answer>> {
  try {
    return { host: host.name, answer: await askHost(host, question) };
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    return { host: host.name, problem: error.message };
  }
}

async function askHost<Answer>(
  host: NamedHost,
  { words, codes = [EXIT.done], check, ask }: HostQuestion<Answer>,
): Promise<Answer> {
  const there = sshHost(host);
  if (there === undefined) return ask(await connectTo(apiOf(host), "cli", PATIENCE), host);
  const output = await captureRemote(there, words);
  const answer = jsonOf(there, codes.includes(output.code) ? output : { ...output, out: "" });
  check(answer);
  return answer as Answer;
}

/** `row` is absent if the machine doesn't answer (`problem`), or has none. */
type HostRow<Row> = { readonly host: string; readonly row?: Row; readonly problem?: string };

export type HostTable<Row> = {
  readonly columns: readonly Column<Row>[];
  /** Titles of the columns that say of a machine "no answer", and why; `none`: what the first says of an empty list. */
  readonly missing: { readonly status: string; readonly why: string; readonly none?: string };
  /** Default: HOST. */
  readonly title?: string;
};

/** A table of one machine, with the machine in front. */
export function hostTable<Row>(
  answers: readonly HostAnswer<readonly Row[]>[],
  { columns, missing, title = "HOST" }: HostTable<Row>,
  screen: TableScreen,
): string {
  const { status, why, none } = missing;
  const rows = answers.flatMap((each): readonly HostRow<Row>[] => {
    if ("problem" in each) return [each];
    const { host, answer } = each;
    return answer.length === 0 && none !== undefined ? [{ host }] : answer.map((row) => ({ host, row }));
  });
  const shown = columns.map(({ cell, paint, ...layout }): Column<HostRow<Row>> => {
    const absent = (problem: string | undefined): string => {
      if (layout.title === status) return problem === undefined ? (none ?? "") : "no answer";
      return layout.title === why ? (problem ?? "") : "";
    };
    return {
      ...layout,
      cell: ({ row, problem }, now) => (row === undefined ? absent(problem) : cell(row, now)),
      ...(paint && { paint: (text: string, { row }: HostRow<Row>) => (row === undefined ? text : paint(text, row)) }),
    };
  });
  return columnTable([{ title, cell: ({ host }: HostRow<Row>) => host }, ...shown], rows, screen);
}

/** A list of each machine: as a table, or as JSON with it under `name`. Exit code 69 if one doesn't answer. @throws {ProcmanError} `usage` */
export async function printLists<Row>(
  names: string,
  question: HostQuestion<readonly Row[]>,
  { json, name, ...table }: HostTable<Row> & { readonly json: boolean; readonly name: string },
): Promise<void> {
  const answers = await askHosts(names, question);
  const printed = answers.map((each) => ("problem" in each ? each : { host: each.host, [name]: each.answer }));
  process.stdout.write(`${json ? printableJson(printed, 2) : hostTable(answers, table, process.stdout)}\n`);
  if (answers.some((each) => "problem" in each)) process.exitCode = EXIT.noDaemon;
}
