/** `procman validate`: checks the configuration file, and shows the next runs of its schedules. */
import type { Command } from "commander";
import { compact } from "../../core/base/compact.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import type { Config, ConfigProblem, ProcessSpec } from "../../core/config/spec.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { CONFIG_HELP } from "../config-option.ts";
import { inZones } from "../output/format.ts";

export function define(parent: Command): void {
  parent
    .command("validate")
    .description(
      "Checks the configuration file and shows all problems with line and column. What is missing for a start here and now (files, folders, programs, variables, ports that other programs have) is a warning; with --strict, an error. Exit code 78 if it is invalid.",
    )
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--profile <name>", "merge this part of `profiles` over the rest of the configuration")
    .option("--strict", "what would fail at a start here and now is an error (for CI and deployments)")
    .option("--json", "print the result as JSON")
    .action(validate);
}

type Options = {
  readonly config?: string;
  readonly profile?: string;
  readonly strict?: boolean;
  readonly json?: boolean;
};

async function validate({ config: path, profile, strict = false, json = false }: Options): Promise<void> {
  const [{ read }, { check }, { ConfigurationError }, { printWarnings }, { nextRun }] = await Promise.all([
    import("../../core/config/config-file.ts"),
    import("../../core/config/load.ts"),
    import("../../core/config/problems.ts"),
    import("../edit-file.ts"),
    import("../../core/config/checks/cron.ts"),
  ]);
  let file = path;
  try {
    const source = read(path, startFolder(path));
    file = source.file;
    const options = compact({ allProfiles: true, looksAtFiles: true, isStrict: strict, profile });
    const alone = check(source, options);
    const instanceMemory = await memoryBeside(alone);
    const config = instanceMemory.size === 0 ? alone : check(source, { ...options, instanceMemory });
    const next = schedules(config).map((schedule) => ({ ...schedule, next: nextRun(schedule, new Date()) }));
    const processes = eachOnce(config).length;
    if (json)
      return printJson({ file: source.file, valid: true, processes, next, problems: [], warnings: config.warnings });
    const lines = next.map(
      ({ process: id, action, pattern, timeZone, next: time }) =>
        `  ${id}: next ${action === "start" ? "run" : action} ${time === undefined ? "never" : inZones(time, timeZone)} (${pattern})\n`,
    );
    process.stdout.write(
      `${source.shownAs}: valid, ${processes === 1 ? "1 process" : `${processes} processes`}\n${lines.join("")}`,
    );
    printWarnings(config, source);
  } catch (error) {
    if (json && error instanceof ConfigurationError)
      printJson({ file, valid: false, problems: error.problems, warnings: [] });
    else if (json && error instanceof ProcmanError)
      printJson({ file, valid: false, problems: [unreadable(file, error)], warnings: [] });
    throw error;
  }
}

/** What an instance of each cluster that may grow uses in the procman that runs this file; empty if none does, or doesn't answer. */
async function memoryBeside({ name, stateDir, processes }: Config): Promise<ReadonlyMap<string, number>> {
  if (processes.every(({ scale }) => scale === undefined)) return new Map();
  const [{ holderOf }, { connectTo }, { PATIENCE }, { instanceMemory }] = await Promise.all([
    import("../../core/os/lock.ts"),
    import("../../client/connection/connect.ts"),
    import("../../client/connection/procman-list.ts"),
    import("../../core/contract/scale-record.ts"),
  ]);
  if (holderOf(stateDir) === undefined) return new Map();
  try {
    const client = await connectTo({ name, stateDir }, "cli", PATIENCE);
    return instanceMemory(await client.processes());
  } catch (error) {
    if (error instanceof ProcmanError) return new Map();
    throw error;
  }
}

/** A problem without a place: the file is missing, or can't be read. */
function unreadable(file: string | undefined, { message }: ProcmanError): ConfigProblem {
  return { file: file ?? "", line: 0, column: 0, path: "", message };
}

type ShownSchedule = {
  readonly process: string;
  readonly action: "start" | "terminate" | "scale";
  readonly pattern: string;
  readonly timeZone?: string;
};

function schedules(config: Config): readonly ShownSchedule[] {
  return eachOnce(config).flatMap(({ id, cluster, cron, terminate, timeZone, scale }) => {
    const process = cluster?.id ?? id;
    const zone = timeZone === undefined ? {} : { timeZone };
    return [
      ...(cron === undefined ? [] : [{ process, action: "start" as const, pattern: cron, ...zone }]),
      ...(terminate === undefined ? [] : [{ process, action: "terminate" as const, pattern: terminate, ...zone }]),
      ...(scale?.schedules ?? []).map((schedule) => ({
        process,
        action: "scale" as const,
        pattern: schedule.pattern,
        ...(schedule.timeZone !== undefined && { timeZone: schedule.timeZone }),
      })),
    ];
  });
}

/** The processes in the file: of a cluster only its first instance. */
function eachOnce({ processes }: Config): readonly ProcessSpec[] {
  return processes.filter(({ cluster }) => (cluster?.index ?? 0) === 0);
}

function printJson(outcome: unknown): void {
  process.stdout.write(`${printableJson(outcome, 2)}\n`);
}
