/** `procman ports`: shows the ports of the processes of all procmans of this user, and those that are reserved. */
import type { Command } from "commander";
import { type ListedPort, listPorts } from "../../client/connection/port-list.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import { type Column, columnTable } from "../output/columns.ts";

export function define(parent: Command): void {
  parent
    .command("ports")
    .description(
      'Shows the ports of the processes of all running procmans of this user, in all folders: fixed ones, and those that were chosen for "auto". Ports without a URL are reserved for a procman that isn\'t running.',
    )
    .option("--json", "print process, port, URL and folder of each as JSON")
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const found = await listPorts();
      if (json) return void process.stdout.write(`${printableJson(found, 2)}\n`);
      const ports = found.filter(({ problem }) => problem === undefined);
      if (ports.length === 0) process.stderr.write("procman: no procman of this user has a port for a process\n");
      else process.stdout.write(`${columnTable(COLUMNS, ports, process.stdout)}\n`);
      for (const { checkout, problem } of found)
        if (problem !== undefined) process.stderr.write(`procman: ${printableLine(named(problem, checkout))}\n`);
    });
}

const COLUMNS: readonly Column<ListedPort>[] = [
  { title: "PROCESS", cell: ({ process: id = "" }) => id },
  { title: "PORT", cell: ({ port = "" }) => String(port), isRight: true },
  { title: "URL", rank: 1, cell: ({ url = "" }) => url, isOptional: true },
  { title: "CHECKOUT", cell: ({ checkout = "" }) => checkout },
];

function named(problem: string, checkout: string | undefined): string {
  return checkout === undefined ? problem : `${checkout}: ${problem}`;
}
