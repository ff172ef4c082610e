/** `procman show`: how a process is run. */
import type { Command } from "commander";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson, printableLine } from "../../core/base/printable.ts";
import type { DefinitionRecord, VariableRecord } from "../../core/contract/definition-record.ts";
import { selectorsIn, unknownProcess } from "../../core/contract/groups.ts";
import { hasLock } from "../../core/os/lock.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { connect } from "../connected.ts";
import { withTarget } from "../options.ts";
import { type TargetLocation, type TargetOptions, targetLocation } from "../target.ts";
import { unappliedId } from "../unapplied.ts";

type Options = TargetOptions & { readonly json?: boolean };

export function define(parent: Command): void {
  const command = parent
    .command("show")
    .description(
      "Shows how a process is run: command line, folder, user, files, ports, environment, policies, and the changes in the configuration file that are not applied yet. If procman isn't running, shows what the file says, with exit code 69. Values that may be secret are hidden: those from files and variables, and those of variables named like a secret.",
    )
    .argument("<id>", "id of a process, an instance (web-2), a cluster or a group (group:backend)");
  withTarget(command).option("--json", "print the API records").action(show);
}

async function show(id: string, { json, ...target }: Options): Promise<void> {
  try {
    print(await (await connect(target)).definitions(id), json);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    if (error.code === "process-unknown") throw unappliedId(id, target) ?? error;
    if (error.exitCode !== EXIT.noDaemon || target.host !== undefined) throw error;
    const location = locationOf(target);
    if (location?.file === undefined) throw error;
    const { file, stateDir } = location;
    const definitions = await configured(id, file);
    // What a killed keeper has left may still be running, as the error says.
    const nothing = hasLock(stateDir) ? "" : ", and nothing of it runs";
    const state = error.code === "service-down" ? "procman does not answer" : `procman is not running${nothing}`;
    print(definitions, json, `${state}; ${file} says this about ${id}.`);
    throw error;
  }
}

/** undefined: no procman of this name is running. */
function locationOf(target: TargetOptions): TargetLocation | undefined {
  try {
    return targetLocation(target);
  } catch (error) {
    if (error instanceof ProcmanError && error.exitCode === EXIT.noDaemon) return undefined;
    throw error;
  }
}

/** @throws {ProcmanError} `process-unknown`; {ConfigurationError} the file is not valid */
async function configured(id: string, file: string): Promise<readonly DefinitionRecord[]> {
  const [{ load }, { definitionRecordOf }, { isNamed }, { writtenParts }] = await Promise.all([
    import("../../core/config/load.ts"),
    import("../../core/config/definitions.ts"),
    import("../../core/config/run-selection.ts"),
    import("../../core/config/written-parts.ts"),
  ]);
  const { processes } = load(file, startFolder(file));
  const found = processes.filter((spec) => id === "all" || isNamed(id, spec));
  if (found.length === 0) {
    const known = processes.flatMap((spec) => [spec.id, spec.cluster?.id ?? []].flat());
    throw unknownProcess(id, new Set(known), selectorsIn(processes));
  }
  const written = writtenParts(file);
  return found.map((spec) => definitionRecordOf(spec, new Map(), written));
}

/** With --json, standard output has only the records. */
function print(definitions: readonly DefinitionRecord[], json: boolean | undefined, intro?: string): void {
  const texts = [...(intro === undefined ? [] : [printableLine(intro)]), ...definitions.map(definitionText)];
  process.stdout.write(`${json === true ? printableJson(definitions, 2) : texts.join("\n\n")}\n`);
}

export function definitionText(definition: DefinitionRecord): string {
  const rows = rowsOf(definition).filter(([, text]) => text !== undefined && text !== "");
  const width = Math.max(...rows.map(([title]) => title.length));
  return rows.map(([title, text = ""]) => `${title.padEnd(width)}  ${printableLine(text)}`).join("\n");
}

type ShownRow = readonly [title: string, text: string | undefined];

function rowsOf(definition: DefinitionRecord): readonly ShownRow[] {
  const { process: id, cluster, groups = [], argv, shell, cwd, user, group, pidFile } = definition;
  const {
    stdin,
    stdout,
    stderr,
    port,
    commonPort,
    env,
    envFiles,
    dependsOn,
    start,
    restart,
    stop,
    hooks = [],
    unapplied,
    written,
  } = definition;
  return [
    ["process", cluster === undefined ? id : `${id}, of the cluster ${cluster}`],
    ["groups", groups.join(", ")],
    ["command", argv.map(quoted).join(" ")],
    ["shell", shell ? "yes" : "no"],
    ["folder", cwd],
    ["user", group === undefined ? user : `${user}, group ${group}`],
    ["stdin", stdin],
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
    ["written in", written === undefined ? undefined : `${written.file}:${written.line}`],
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
