/** `procman status` of several machines in one table. */
import { type Column, columnTable, type TableScreen } from "../../cli/output/columns.ts";
import { colorOf, painterFor } from "../../cli/output/format.ts";
import { withProgress } from "../../cli/output/progress.ts";
import { STATUS_COLUMNS } from "../../cli/output/status-table.ts";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import { connectTo } from "../../client/connection/connect.ts";
import { hostsNamed, type NamedHost } from "../../client/connection/host-file.ts";
import { apiOf } from "../../client/connection/remote-host.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { captureRemote, jsonOf, sshHost } from "./ssh.ts";

/** A machine that doesn't answer must not hold up the others. Milliseconds. */
const PATIENCE = { connectMs: 1_000, silenceMs: 10_000, answerMs: 10_000 };

/** What one machine has answered, or why it hasn't. */
export type HostStatus = { readonly host: string } & (
  | { readonly processes: readonly ProcessRecord[] }
  | { readonly problem: string }
);

/** All machines are asked at once. @throws {ProcmanError} `usage` */
export function statusOfHosts(names: string): Promise<readonly HostStatus[]> {
  const hosts = hostsNamed(names);
  const open = new Set(hosts.map(({ name }) => name));
  const one = async (host: NamedHost): Promise<HostStatus> => {
    const status = await statusOf(host);
    open.delete(host.name);
    return status;
  };
  return withProgress(() => `asking ${[...open].join(", ")}`, Promise.all(hosts.map(one)));
}

async function statusOf(host: NamedHost): Promise<HostStatus> {
  try {
    return { host: host.name, processes: await processesOf(host) };
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    return { host: host.name, problem: error.message };
  }
}

async function processesOf(host: NamedHost): Promise<readonly ProcessRecord[]> {
  const there = sshHost(host);
  if (there === undefined) return (await connectTo(apiOf(host), "cli", PATIENCE)).processes();
  const output = await captureRemote(there, ["status", "--json"]);
  if (output.code !== EXIT.done && output.code !== EXIT.notRunning)
    return jsonOf(there, { ...output, out: "" }) as never;
  const answer = jsonOf(there, output);
  checkAnswer("processes", answer);
  return answer as readonly ProcessRecord[];
}

type HostRow = { readonly host: string; readonly record?: ProcessRecord; readonly problem?: string };

/** The table of `procman status`, with the machine in front, or what else `title` says. */
export function hostStatusTable(statuses: readonly HostStatus[], screen: TableScreen, title = "HOST"): string {
  const paint = painterFor(screen);
  const columns = STATUS_COLUMNS.map((column): Column<HostRow> => {
    const { cell, paint: _paint, ...layout } = column;
    const isStatus = layout.title === "STATUS";
    const missing = (problem: string): string => (isStatus ? "no answer" : layout.title === "WHY" ? problem : "");
    const painted = (text: string, { record }: HostRow): string =>
      record === undefined ? text : paint(colorOf(record), text);
    return {
      ...layout,
      cell: ({ record, problem = "" }, now) => (record === undefined ? missing(problem) : cell(record, now)),
      ...(isStatus && { paint: painted }),
    };
  });
  return columnTable([{ title, cell: ({ host }) => host }, ...columns], statuses.flatMap(rowsOf), screen);
}

function rowsOf(status: HostStatus): readonly HostRow[] {
  if ("problem" in status) return [status];
  return status.processes
    .flatMap((record) => [record, ...(record.instances ?? [])])
    .map((record) => ({ host: status.host, record }));
}
