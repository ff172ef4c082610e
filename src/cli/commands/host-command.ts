/** `procman host`: the list of other machines that `--host` knows. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { connectTo } from "../../client/connection/connect.ts";
import { addressIn } from "../../client/connection/host-address.ts";
import { allHosts, type NamedHost, removeHost, saveHost } from "../../client/connection/host-file.ts";
import { apiOf } from "../../client/connection/remote-host.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { listRemote, sshHost } from "../../satellites/hosts/ssh.ts";
import { type Column, columnTable } from "../output/columns.ts";
import { printDone } from "../output/done.ts";
import { withProgress } from "../output/progress.ts";
import { listed } from "../token-limits.ts";

type AddOptions = {
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly program?: string;
  readonly group?: readonly string[];
  readonly check: boolean;
};

export function define(parent: Command): void {
  const command = parent
    .command("host")
    .description(
      "Other machines with procman, by name, and procmans of other users. Every command takes --host NAME; by ssh it runs there, else it asks the API there.",
    );
  command
    .command("add")
    .summary("add a machine, or change it")
    .description(
      "Adds a machine after connecting to it. ssh://USER@HOST[:PORT][/FOLDER]: by your own ssh, with its configuration file and keys; no port is opened, and no token leaves that machine. FOLDER: where the configuration is. https://HOST[:PORT][/PATH]: the API of one procman, with TLS. unix:PATH: the socket of a procman of this machine that lets a group of yours look (api.group).",
    )
    .argument("<name>", "its name for --host")
    .argument("<url>", "ssh://…, https://… or unix:/…")
    .option("--token-file <file>", "https: file with a token, as `procman token` prints it there")
    .option("--ca <file>", "https: file with the authorities of its certificate, in PEM (default: those of Node)")
    .option("--program <path>", "ssh: how procman is called there (default: procman)")
    .option("--group <name>", "group that it belongs to, for --host @NAME; may be repeated", listed)
    .option("--no-check", "add it without connecting")
    .action(add);
  command
    .command("list", { isDefault: true })
    .summary("show the machines")
    .option("--json", "print them as JSON")
    .action(({ json = false }: { readonly json?: boolean }) => list(json));
  command
    .command("remove")
    .summary("remove a machine from the list")
    .argument("<name>", "its name")
    .action((name: string) => {
      removeHost(name);
      printDone(`removed ${name}; that machine is not affected`, { name });
    });
}

async function add(name: string, url: string, options: AddOptions): Promise<void> {
  const { group: groups = [] } = options;
  const host = { ...hostOf(name, url, options), ...(groups.length > 0 && { groups: [...new Set(groups)] }) };
  if (!options.check) return save(host, `added ${name} without connecting`);
  const there = sshHost(host);
  if (there === undefined) {
    const state = await withProgress(
      () => `asking ${name}`,
      connectTo(apiOf(host)).then((client) => client.state()),
    );
    return save(host, `added ${name}: ${JSON.stringify(state.name)}, procman ${state.version}`);
  }
  const mayPrompt = process.stdin.isTTY && process.stderr.isTTY;
  // ssh may ask for a password: no progress over its question.
  const found = await listRemote(there, mayPrompt);
  const [only, ...others] = found;
  if (there.address.config !== undefined || only?.configFile === undefined || others.length > 0)
    return save(
      host,
      `added ${name}${found.length === 0 ? "; no procman is running there yet" : ""}`,
      remedyFor(there.address.config, found),
    );
  save(
    { ...host, url: `${withoutEnd(url, "/")}${encodeURI(only.configFile)}` },
    `added ${name}: ${JSON.stringify(only.name)}, ${only.configFile}`,
  );
}

/** @throws {ProcmanError} `usage` */
function hostOf(name: string, url: string, { tokenFile, ca, program }: AddOptions): NamedHost {
  const { kind } = addressIn(url);
  const foreign = {
    ...(kind !== "https" && { "--token-file": tokenFile, "--ca": ca }),
    ...(kind !== "ssh" && { "--program": program }),
  };
  const [wrong] = Object.entries(foreign).flatMap(([option, value]) => (value === undefined ? [] : [option]));
  if (wrong !== undefined) throw new ProcmanError("usage", `Cannot add ${name}: ${wrong} doesn't apply to ${url}`);
  if (kind !== "https") return { name, url, ...(program !== undefined && { program }) };
  if (tokenFile === undefined)
    throw new ProcmanError(
      "usage",
      `Cannot add ${name}: https needs --token-file FILE; "procman token" prints a token there`,
    );
  return { name, url, tokenFile: fileNamed(tokenFile, name), ...(ca !== undefined && { ca: fileNamed(ca, name) }) };
}

/** Absolute. @throws {ProcmanError} `usage` */
function fileNamed(path: string, name: string): string {
  const file = resolve(startFolder(path), path);
  if (!existsSync(file)) throw new ProcmanError("usage", `Cannot add ${name}: there is no file ${file}`);
  return file;
}

function save(host: NamedHost, done: string, remark = ""): void {
  saveHost(host);
  printDone(`${done}${remark === "" ? "" : `\n${remark}`}`, host);
}

/** Which of them a command is for must be said. */
function remedyFor(
  config: string | undefined,
  found: readonly { readonly name: string; readonly configFile?: string }[],
): string {
  if (config !== undefined || found.length < 2) return "";
  const lines = found.map(({ name, configFile = "" }) => `  ${printableLine(name)}  ${configFile}`);
  return `${found.length} procmans are running there, so commands need --name or --config; or add it with a folder, as ssh://…/srv/app:\n${lines.join("\n")}`;
}

function list(json: boolean): void {
  const hosts = allHosts();
  if (json) process.stdout.write(`${printableJson(hosts, 2)}\n`);
  else if (hosts.length === 0)
    process.stdout.write('There are no hosts yet; "procman host add NAME ssh://USER@HOST" adds one.\n');
  else process.stdout.write(`${columnTable(COLUMNS, hosts, process.stdout)}\n`);
}

const COLUMNS: readonly Column<NamedHost>[] = [
  { title: "NAME", cell: ({ name }) => name },
  { title: "ADDRESS", cell: ({ url }) => url },
  { title: "GROUPS", cell: ({ groups = [] }) => groups.join(", "), isOptional: true },
];
