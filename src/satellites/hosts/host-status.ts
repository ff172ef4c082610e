/** `procman status` of several machines in one table. */
import type { TableScreen } from "../../cli/output/columns.ts";
import { colorOf, painterFor } from "../../cli/output/format.ts";
import { STATUS_COLUMNS } from "../../cli/output/status-table.ts";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import { EXIT } from "../../core/base/errors.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { askHosts, hostTable } from "./several-hosts.ts";

/** What one machine has answered, or why it hasn't. */
export type HostStatus = { readonly host: string } & (
  | { readonly processes: readonly ProcessRecord[] }
  | { readonly problem: string }
);

/** All machines are asked at once. @throws {ProcmanError} `usage` */
export async function statusOfHosts(names: string): Promise<readonly HostStatus[]> {
  const answers = await askHosts<readonly ProcessRecord[]>(names, {
    words: ["status", "--json"],
    codes: [EXIT.done, EXIT.notRunning],
    check: (value) => checkAnswer("processes", value),
    ask: (client) => client.processes(),
  });
  return answers.map((each) => ("problem" in each ? each : { host: each.host, processes: each.answer }));
}

/** The table of `procman status`, with the machine in front, or what else `title` says. */
export function hostStatusTable(statuses: readonly HostStatus[], screen: TableScreen, title = "HOST"): string {
  const paint = painterFor(screen);
  const columns = STATUS_COLUMNS.map(({ paint: _paint, ...column }) => ({
    ...column,
    ...(column.title === "STATUS" && {
      paint: (text: string, record: ProcessRecord) => paint(colorOf(record), text),
    }),
  }));
  const answers = statuses.map((status) =>
    "problem" in status
      ? status
      : { host: status.host, answer: status.processes.flatMap((record) => [record, ...(record.instances ?? [])]) },
  );
  return hostTable(answers, { columns, missing: { status: "STATUS", why: "WHY" }, title }, screen);
}
