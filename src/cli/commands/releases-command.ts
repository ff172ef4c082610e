/** `procman releases`: lists the releases that are there. */
import type { Command } from "commander";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import { mayBeSeveral } from "../../client/connection/host-file.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { Control } from "../../core/contract/control.ts";
import type { ReleaseRecord } from "../../core/contract/deployment-record.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { type Column, columnTable } from "../output/columns.ts";
import type { TargetOptions } from "../target.ts";

const COLUMNS: readonly Column<ReleaseRecord>[] = [
  { title: "RELEASE", cell: ({ id }) => id },
  { title: "STATE", cell: ({ current, result = "" }) => (current === true ? "current" : result) },
  { title: "MADE", cell: ({ time }) => (time === undefined ? "" : hostTime(Date.parse(time))), rank: 1 },
  { title: "RUNNING", cell: ({ pids }) => String(pids.length), isRight: true, rank: 2 },
  { title: "FROM", cell: ({ source = "" }) => printableLine(source.replaceAll(`${startFolder()}/`, "")), rank: 3 },
  { title: "PROBLEM", cell: ({ problem = "" }) => printableLine(problem), isOptional: true, rank: 0 },
];

export function define(parent: Command): void {
  withTarget(
    parent
      .command("releases")
      .description(
        "The releases that are there, newest first: which one is in use, what each was made from, and how many processes run in it.",
      ),
  )
    .option("--json", "print the API records, newest first")
    .action(async ({ json = false, ...target }: TargetOptions & { readonly json?: boolean }) => {
      if (target.host !== undefined && mayBeSeveral(target.host)) return releasesOfHosts(target.host, json);
      const releases = await (await connect(target)).releases();
      if (json) process.stdout.write(`${printableJson(releases, 2)}\n`);
      else if (releases.length === 0)
        process.stderr.write('procman: there is no release yet; "procman deploy" makes one\n');
      else process.stdout.write(`${columnTable(COLUMNS, releases, process.stdout)}\n`);
    });
}

/** @throws {ProcmanError} `usage` */
async function releasesOfHosts(names: string, json: boolean): Promise<void> {
  const { printLists } = await import("../../satellites/hosts/several-hosts.ts");
  const question = {
    words: ["releases", "--json"],
    check: (value: unknown) => checkAnswer("releases", value),
    ask: (client: Pick<Control, "releases">) => client.releases(),
  };
  await printLists(names, question, {
    json,
    name: "releases",
    columns: COLUMNS,
    missing: { none: "none", status: "STATE", why: "PROBLEM" },
  });
}
