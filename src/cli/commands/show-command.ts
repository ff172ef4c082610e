/** `procman show`: how a process is run. */
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import { printableLine } from "../../base/printable.ts";
import type { DefinitionRecord, VariableRecord } from "../../contract/definition-record.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { unappliedId } from "../unapplied.ts";

type Options = { readonly config?: string; readonly name?: string; readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("show")
    .summary("show how a process is run: command, folder, user, files, environment")
    .description(
      "Shows how a process is run: command line, folder, user, files, ports, environment, policies, and what of the configuration file is not applied yet. Values that may be secret are hidden: those from files and variables, and those of variables named like a secret.",
    )
    .argument("<id>", "id of a process, an instance (web-2), a cluster or a group (group:backend)");
  withTarget(command).option("--json", "print the records of the API").action(show);
}

async function show(id: string, { json, ...target }: Options): Promise<void> {
  const definitions = await (await connect(target)).definitions(id).catch((error: unknown) => {
    if (error instanceof ProcmanError && error.code === "process-unknown") throw unappliedId(id, target) ?? error;
    throw error;
  });
  const text = json === true ? JSON.stringify(definitions, undefined, 2) : definitions.map(definitionText).join("\n\n");
  process.stdout.write(`${text}\n`);
}

export function definitionText(definition: DefinitionRecord): string {
  const rows = rowsOf(definition).filter(([, text]) => text !== undefined && text !== "");
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, text = ""]) => `${title.padEnd(width)}  ${printableLine(text)}`).join("\n");
}

type ShownRow = readonly [title: string, text: string | undefined];

function rowsOf(definition: DefinitionRecord): readonly ShownRow[] {
  const { process: id, cluster, groups = [], argv, shell, cwd, user, group, stdout, stderr, pidFile } = definition;
  const { port, commonPort, env, envFiles, dependsOn, start, restart, stop, hooks = [], unapplied } = definition;
  return [
    ["process", cluster === undefined ? id : `${id}, of the cluster ${cluster}`],
    ["groups", groups.join(", ")],
    ["command", argv.map(quoted).join(" ")],
    ["shell", shell ? "yes" : "no"],
    ["folder", cwd],
    ["user", group === undefined ? user : `${user}, group ${group}`],
    ["output", stdout === stderr ? stdout : undefined],
    ["stdout", stdout === stderr ? undefined : stdout],
    ["stderr", stdout === stderr ? undefined : stderr],
    ["pid file", pidFile],
    ["port", port === undefined ? undefined : String(port)],
    ["common port", commonPort === undefined ? undefined : String(commonPort)],
    ["depends on", dependsOn.join(", ")],
    ["starts", start],
    ["restarts", restart],
    ["stops", stop],
    ...hooks.map((hook): ShownRow => ["hook", hook]),
    ...envFiles.map((file): ShownRow => ["env file", file]),
    ...env.map((variable): ShownRow => ["variable", variableText(variable)]),
    ["not applied", unapplied],
  ];
}

function variableText({ name, source, value, from }: VariableRecord): string {
  if (source === "file") return `${name} (hidden; from the file ${from})`;
  if (source === "variable") return `${name} (hidden; from the variable ${from})`;
  return value === undefined ? `${name} (hidden)` : `${name}=${value}`;
}

/** As a shell would need it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
