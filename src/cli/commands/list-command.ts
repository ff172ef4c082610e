/** `procman list`: shows the procmans that run on this machine. */
import type { Command } from "commander";
import { type ListedProcman, listProcmans } from "../../client/connection/procman-list.ts";
import { addressText } from "../../core/base/address-text.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import { age } from "../../core/base/quantity.ts";
import { userName } from "../../core/os/user-names.ts";
import { HOST_HELP } from "../config-option.ts";
import { type Column, columnTable, type TableScreen } from "../output/columns.ts";
import { painterFor } from "../output/format.ts";

export function define(parent: Command): void {
  parent
    .command("list")
    .description(
      "Shows all running procmans of this user, or for root those of all users, wherever their configuration files and state folders are. ATTENTION counts processes that should be up and aren't, that are not ready, or not healthy.",
    )
    .option("--host <name>", HOST_HELP)
    .option("--json", "print the procmans as JSON")
    .action(async ({ host, json = false }: { readonly host?: string; readonly json?: boolean }) => {
      if (host !== undefined) return listOfHosts(host, json);
      const found = await listProcmans();
      if (json) process.stdout.write(`${printableJson(found, 2)}\n`);
      else if (found.length === 0) process.stderr.write("procman: no procman of this user is running\n");
      else process.stdout.write(`${listTable(found, process.stdout)}\n`);
      if (!json)
        for (const { name, problem } of found)
          if (problem !== undefined) process.stderr.write(`procman: ${name}: ${problem}\n`);
    });
}

/** @throws {ProcmanError} `usage` */
async function listOfHosts(names: string, json: boolean): Promise<void> {
  const [{ printLists }, { checkListed }] = await Promise.all([
    import("../../satellites/hosts/several-hosts.ts"),
    import("../../satellites/hosts/ssh.ts"),
  ]);
  const question = {
    words: ["list", "--json"],
    check: checkListed,
    ask: (): Promise<readonly ListedProcman[]> =>
      Promise.reject(
        new ProcmanError("usage", 'by the API alone "procman list" sees no other procman; "procman status" does'),
      ),
  };
  await printLists(names, question, {
    json,
    name: "procmans",
    columns: columnsFor(painterFor(process.stdout), true),
    missing: { none: "none", status: "STATUS", why: "FILE" },
  });
}

const WORDS: Readonly<Record<ListedProcman["status"], string>> = {
  running: "running",
  terminating: "ending",
  "service-down": "service down",
  "no-keeper": "no keeper",
};

const GREEN = 32;
const YELLOW = 33;
const RED = 31;

const COLUMNS: readonly Column<ListedProcman>[] = [
  { title: "NAME", cell: ({ name }) => name },
  { title: "STATUS", cell: ({ status }) => WORDS[status] },
  { title: "USER", rank: 5, cell: ({ user }) => user, isOptional: true },
  { title: "PID", rank: 6, cell: ({ keeper = "" }) => String(keeper), isRight: true },
  { title: "SERVICE", rank: 1, cell: ({ service = "" }) => String(service), isRight: true },
  {
    title: "UP",
    rank: 4,
    cell: ({ uptimeSeconds }) => (uptimeSeconds === undefined ? "" : age(uptimeSeconds * 1_000)),
  },
  { title: "PROCESSES", rank: 7, cell: ({ processes }) => String(processes?.total ?? ""), isRight: true },
  {
    title: "ATTENTION",
    rank: 8,
    cell: ({ processes }) => String(processes?.attention || ""),
    isRight: true,
    isOptional: true,
  },
  { title: "API", rank: 3, cell: ({ api }) => (api === undefined ? "" : addressText(api)), isOptional: true },
  { title: "STATE FOLDER", rank: 2, cell: farStateFolder, isOptional: true },
  { title: "FILE", cell: ({ configFile = "" }) => configFile },
];

/** Only if it isn't beside the configuration file. */
function farStateFolder({ configFile, stateDir, name }: ListedProcman): string {
  const folder = configFile?.slice(0, configFile.lastIndexOf("/"));
  return stateDir === `${folder}/.procman/${name}` ? "" : stateDir;
}

function listTable(procmans: readonly ListedProcman[], screen: TableScreen): string {
  const own = userName(process.geteuid?.() ?? -1);
  const isShared = procmans.some(({ user }) => user !== own);
  return columnTable(columnsFor(painterFor(screen), isShared), procmans, screen);
}

function columnsFor(paint: ReturnType<typeof painterFor>, isShared: boolean): readonly Column<ListedProcman>[] {
  return COLUMNS.filter(({ title }) => title !== "USER" || isShared).map((each) =>
    each.title === "STATUS"
      ? { ...each, paint: (text: string, procman: ListedProcman) => paint(colorOf(procman), text) }
      : each,
  );
}

function colorOf({ status, processes }: ListedProcman): number {
  if (status !== "running") return status === "terminating" ? YELLOW : RED;
  return processes !== undefined && processes.attention > 0 ? YELLOW : GREEN;
}
