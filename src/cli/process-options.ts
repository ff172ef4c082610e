/** Options that describe a process, for `init` and `append`. */
import type { Command } from "commander";
import { ProcmanError } from "../core/base/errors.ts";

export type ProcessOptions = {
  readonly id?: string;
  readonly cmd?: string;
  readonly worker?: string;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly autostart?: boolean;
  readonly cron?: string;
  readonly watch?: readonly string[];
  readonly restart?: string;
  readonly instances?: string;
  readonly startPort?: string;
  readonly stdout?: string;
};

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Adds the options to a command. */
export function withProcessOptions(command: Command): Command {
  return withSettings(
    command
      .option("--id <id>", "name of the process, for other commands")
      .option("--cmd <line>", "command line, run by /bin/sh")
      .option(
        "--worker <script>",
        'JavaScript or TypeScript module, run by Node; with arguments as ["script.js", "argument"]',
      ),
  );
}

/** Adds the options that don't say what is run. */
export function withSettings(command: Command): Command {
  return command
    .option("--cwd <folder>", "working directory (default: the folder of the file)")
    .option("--env <name=value>", "environment variable (repeatable)", collect)
    .option("--autostart", "start with procman (default without --cron and --watch)")
    .option("--no-autostart", "start only manually, or by --cron or --watch")
    .option("--cron <pattern>", 'start on a schedule such as "0 3 * * *"')
    .option("--watch <path>", "start, and restart when this path changes (repeatable)", collect)
    .option("--restart <when>", "restart always, after an error, or never (default: error)")
    .option("--instances <count>", 'run a cluster: a number, or "max" for one instance per processor')
    .option("--start-port <port>", "PROCMAN_CLUSTER_PORT of the first instance")
    .option("--stdout <file>", "log file, such as logs/{id}.log");
}

/**
 * The process as written to the file. Values are validated later, together with the whole file.
 *
 * @throws {ProcmanError} `usage` if an option is missing or contradicts another
 */
export function processOf(options: ProcessOptions, action: string): Readonly<Record<string, unknown>> {
  const missing = [
    ...(options.id === undefined ? ["--id"] : []),
    ...(options.cmd === undefined && options.worker === undefined ? ["--cmd or --worker"] : []),
  ];
  if (missing.length > 0) throw new ProcmanError("usage", `Cannot ${action}: ${missing.join(" and ")} must be given`);
  if (options.cmd !== undefined && options.worker !== undefined)
    throw new ProcmanError("usage", `Cannot ${action}: both --cmd and --worker are given; a process has one of them`);
  const { id, cmd, worker, cwd, cron, watch, restart, instances, startPort, stdout } = options;
  const startsOtherwise = cron !== undefined || watch !== undefined;
  const cluster =
    instances === undefined && startPort === undefined
      ? undefined
      : { instances: number(instances), startPort: number(startPort) };
  return present({
    id,
    cmd,
    worker: workerOf(worker, action),
    cwd,
    env: environment(options.env, action),
    autostart: options.autostart ?? (startsOtherwise ? undefined : true),
    cron,
    watch,
    restart,
    cluster: cluster && present(cluster),
    logger: stdout === undefined ? undefined : { stdout },
  });
}

/** A script, or a JSON list of a script and its arguments. */
function workerOf(text: string | undefined, action: string): string | readonly string[] | undefined {
  if (text === undefined || !/^\s*\[\s*["\]]/.test(text)) return text;
  const list = jsonIn(text);
  if (Array.isArray(list) && list.every((entry) => typeof entry === "string")) return list;
  throw new ProcmanError(
    "usage",
    `Cannot ${action}: --worker ${text} is not a list of strings; write it as ["script.js", "argument"]`,
  );
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function present(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** An invalid number stays text, so that the validation of the file can report what is allowed. */
function number(text: string | undefined): number | string | undefined {
  return text !== undefined && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function environment(
  pairs: readonly string[] | undefined,
  action: string,
): Readonly<Record<string, string>> | undefined {
  if (pairs === undefined) return undefined;
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) throw new ProcmanError("usage", `Cannot ${action}: --env ${JSON.stringify(pair)} is not NAME=VALUE`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
