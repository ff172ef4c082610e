/** `procman logs`: shows the stored output of processes and their lifecycle messages; follows with `-f`. */
import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import { EXIT, ProcmanError } from "../../base/errors.ts";
import { isObject } from "../../base/schema-check.ts";
import { read } from "../../config/config-file.ts";
import { parseDocument } from "../../config/document.ts";
import { type Location, locate } from "../../config/find-config.ts";
import { connectTo } from "../../connection/connect.ts";
import { LogFormatter } from "../../connection/log-format.ts";
import { LogReader } from "../../connection/log-reader.ts";
import { CATEGORIES, type Category, type LogEntry, type LogQuery, SEVERITIES, type Severity } from "../../contract/records.ts";
import { wantsColors } from "../../os/colors.ts";
import { timeOf } from "../format.ts";
import { integerTo, selected, withConfig } from "../options.ts";

const LINES = 100;
const MAX_LINES = 1_000_000;
const OFF = 'nothing is stored, because "logger.internalLogHours" is 0';

type Options = {
  readonly config?: string;
  readonly follow?: boolean;
  readonly severity?: Severity;
  readonly category?: readonly Category[];
  readonly since?: string;
  readonly until?: string;
  readonly search?: string;
  readonly lines?: number;
  readonly json?: boolean;
  readonly color: boolean;
  readonly raw?: boolean;
};

export function define(parent: Command): void {
  const command = parent
    .command("logs")
    .summary("show stored output and lifecycle messages")
    .description(
      "Shows the stored output of processes, their lifecycle messages, and procman's own messages, oldest first. Times are in the host's time zone unless they have a zone: 10m, yesterday, 14:30, 2026-01-31, ISO 8601.",
    )
    .argument("[id...]", "ids of processes, instances (web-2) or clusters (default: all)")
    .option("-f, --follow", "follow new entries until Ctrl-C or the end of procman")
    .option(
      "-n, --lines <count>",
      `number of last entries (default: ${LINES}; all with --since, --until or --search)`,
      integerTo(MAX_LINES, 0),
    )
    .addOption(new Option("--severity <least>", "minimum severity").choices(SEVERITIES))
    .option("--category <names>", `only these, separated by commas: ${CATEGORIES.join(", ")}`, categories)
    .option("--since <time>", "entries from this time on")
    .option("--until <time>", "entries before this time")
    .option("--search <text>", "only lines with this text, ignoring case")
    .option("--no-color", "without colours, also on a terminal")
    .option("--raw", "write control characters of the output as they are, not like \\x1b");
  withConfig(command).option("--json", "print entries as JSON, one a line").action(logs);
}

function categories(text: string, before: readonly Category[] = []): readonly Category[] {
  const names = text.split(",");
  const known = CATEGORIES.filter((name) => names.includes(name));
  if (known.length !== new Set(names).size) throw new InvalidArgumentError(`Allowed: ${CATEGORIES.join(", ")}.`);
  return [...before, ...known];
}

async function logs(ids: readonly string[], options: Options): Promise<void> {
  if (options.follow === true && options.until !== undefined)
    throw new ProcmanError("usage", "Cannot show logs: --follow has no end and excludes --until; leave one of them out");
  const query = queryOf(ids, options, Date.now());
  const location = locate(options.config, process.cwd());
  const reader = new LogReader(location, "cli");
  const print = printer(options);
  if (options.follow === true) {
    await checkIds(location, ids, options.config);
    if (isOff(options.config)) printNote(OFF);
    const beginning = options.lines === 0 ? { from: Date.now() } : { limit: Math.min(options.lines ?? LINES, 10_000) };
    return follow(reader, { ...query, ...beginning }, print);
  }
  if (options.lines === 0) return checkIds(location, ids, options.config);
  if ((await printStored(reader, query, { print, lines: options.lines })) > 0) return;
  await checkIds(location, ids, options.config);
  printNote(isOff(options.config) ? OFF : "no matching log entries");
}

/** The content of the configuration file, valid or not. */
function dataIn(config: string | undefined): unknown {
  return parseDocument(read(config, process.cwd()).text).data;
}

/** Whether the configuration turns off storing logs. */
function isOff(config: string | undefined): boolean {
  const data = dataIn(config);
  return isObject(data) && isObject(data.logger) && data.logger.internalLogHours === 0;
}

function printNote(text: string): void {
  process.stderr.write(`procman: ${text}\n`);
}

/** Returns the number of entries. */
async function printStored(
  reader: LogReader,
  query: LogQuery,
  { print, lines }: { readonly print: Printer; readonly lines: number | undefined },
): Promise<number> {
  const isRange = query.from !== undefined || query.to !== undefined || query.search !== undefined;
  if (lines !== undefined || !isRange) {
    const last = await reader.last(query, lines ?? LINES);
    await print.entries(last);
    return last.length;
  }
  let count = 0;
  for await (const { entries } of reader.all(query)) {
    await print.entries(entries);
    count += entries.length;
  }
  return count;
}

/** Checks ids without entries: a removed process may have stored lines, an unknown id is a typing error. @throws {ProcmanError} `process-unknown` */
async function checkIds(location: Location, ids: readonly string[], config: string | undefined): Promise<void> {
  if (ids.length === 0) return;
  try {
    selected(await (await connectTo(location)).processes(), ids, config);
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon) throw error;
    const { membersOf } = await import("../../connection/history.ts");
    for (const id of ids) membersOf(dataIn(config), location.stateDir, id);
  }
}

async function follow(reader: LogReader, query: LogQuery, print: Printer): Promise<void> {
  const stop = new AbortController();
  // A second Ctrl-C kills the command.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  for await (const item of reader.follow(query, stop.signal))
    await (item.type === "entry" ? print.entries([item.entry]) : print.gap(item.bytes));
  if (!stop.signal.aborted) printNote("procman is not running; end of log");
}

function queryOf(ids: readonly string[], { severity, category, since, until, search }: Options, now: number): LogQuery {
  const processes = ids.includes("all") ? [] : [...new Set(ids)];
  return {
    ...(processes.length === 0 ? {} : { processes }),
    ...(severity === undefined ? {} : { severity }),
    ...(category === undefined ? {} : { categories: category }),
    ...(since === undefined ? {} : { from: timeOf("--since", since, now) }),
    ...(until === undefined ? {} : { to: timeOf("--until", until, now) }),
    ...(search === undefined ? {} : { search }),
  };
}

type Printer = {
  readonly entries: (entries: readonly LogEntry[]) => Promise<void>;
  readonly gap: (bytes: number) => Promise<void>;
};

function printer({ json, color, raw }: Options): Printer {
  const lines = new LogFormatter(color && wantsColors(process.stdout), raw);
  const line = json === true ? (entry: LogEntry): string => `${JSON.stringify(entry)}\n` : (entry: LogEntry): string => lines.line(entry);
  return {
    entries: (entries) => {
      lines.reserve(entries);
      return out(entries.map(line).join(""));
    },
    // With --json, standard output has only entries.
    gap: async (bytes) => (json === true ? void process.stderr.write(lines.gap(bytes)) : out(lines.gap(bytes))),
  };
}

/** Waits while the reader is slower. */
async function out(text: string): Promise<void> {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}
