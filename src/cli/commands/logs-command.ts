/** `procman logs`: shows the stored output of processes and their lifecycle messages; follows with `-f`. */

import { once } from "node:events";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type ApiPlace, connectTo } from "../../client/connection/connect.ts";
import { mayBeSeveral } from "../../client/connection/host-file.ts";
import { LogFormatter, OWN_ID } from "../../client/connection/log-format.ts";
import { LogReader } from "../../client/connection/log-reader.ts";
import { compact } from "../../core/base/compact.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import {
  CATEGORIES,
  type Category,
  type LogEntry,
  type LogItem,
  type LogQuery,
  type ProcessRecord,
  SEVERITIES,
  type Severity,
} from "../../core/contract/records.ts";
import { STARTS, startedPid } from "../../core/contract/words.ts";
import { wantsColors } from "../../core/os/colors.ts";
import type { HostLog } from "../../satellites/hosts/host-logs.ts";
import { printedIdsInFile } from "../completion-candidates.ts";
import { IDS_HELP, integerTo, selected, withTarget } from "../options.ts";
import { timeOf } from "../output/format.ts";
import { withProgress } from "../output/progress.ts";
import { dataOfTarget, NO_LOGS, storesNoLogs, type TargetOptions, targetFile, targetPlace } from "../target.ts";

const LINES = 100;
const MAX_LINES = 1_000_000;
const MAX_RUNS = 1_000;

type Options = TargetOptions & {
  readonly follow?: boolean;
  readonly severity?: Severity;
  readonly category?: readonly Category[];
  readonly since?: string;
  readonly until?: string;
  readonly search?: string;
  readonly where?: readonly string[];
  readonly regex?: readonly string[];
  readonly lines?: number;
  readonly json?: boolean;
  readonly color: boolean;
  readonly raw?: boolean;
} & RunChoice;

export function define(parent: Command): void {
  const command = parent
    .command("logs")
    .description(
      "Shows the stored output of processes, their lifecycle messages, and procman's own messages, oldest first. Times are in the host's time zone unless they have a zone: 10m, yesterday, 14:30, 2026-01-31, ISO 8601.",
    )
    .argument("[id...]", `${IDS_HELP} (default: all)`)
    .option("-f, --follow", "follow new entries until Ctrl-C or until procman ends")
    .option(
      "-n, --lines <count>",
      `number of last entries (default: ${LINES}; all with --since, --until, --search, --where or --regex)`,
      integerTo(MAX_LINES, 0),
    );
  withFilters(command)
    .option("--no-color", "no colors, even on a terminal")
    .option("--runs <count>", "entries of the last runs of each process; 1: since its last start", integerTo(MAX_RUNS))
    .option("--run <number>", "entries of the latest run with this number", integerTo(Number.MAX_SAFE_INTEGER))
    .option(
      "--raw",
      "write lines as the processes wrote them: without time and id, JSON and control characters as they are",
    );
  withTarget(command).option("--json", "print entries as JSON, one a line").action(logs);
}

function withFilters(command: Command): Command {
  return command
    .addOption(new Option("--severity <least>", "minimum severity").choices(SEVERITIES))
    .option("--category <names>", `only these, separated by commas: ${CATEGORIES.join(", ")}`, categories)
    .option("--since <time>", "entries from this time on")
    .option("--until <time>", "entries before this time")
    .option("--search <text>", "only lines with this text, ignoring case")
    .option(
      "--where <condition>",
      "only JSON lines with such a field: status>=500, req.id=7, name!=x (may be repeated; all must hold)",
      repeated,
    )
    .option(
      "--regex <expression>",
      "only lines that match this regular expression of RE2 (may be repeated; all must match)",
      repeated,
    );
}

function repeated(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function categories(text: string, before: readonly Category[] = []): readonly Category[] {
  const names = text.split(",");
  const known = CATEGORIES.filter((name) => names.includes(name));
  if (known.length !== new Set(names).size) throw new InvalidArgumentError(`Allowed: ${CATEGORIES.join(", ")}.`);
  return [...before, ...known];
}

async function logs(ids: readonly string[], options: Options): Promise<void> {
  if (options.follow === true && options.until !== undefined)
    throw new ProcmanError(
      "usage",
      "Cannot show logs: --follow has no end and excludes --until; leave one of them out",
    );
  if (options.host !== undefined && mayBeSeveral(options.host)) return logsOfHosts(options.host, ids, options);
  const place = targetPlace(options);
  if (ids[0] === "flush") await checkIds(place, ["flush"], options).catch(explainFlush);
  const reader = new LogReader({ ...place, membersOf: (id) => storedMembersOf(place, id, options) }, "cli");
  const query = queryOf(ids, options, Date.now());
  const chosen = await chosenRuns(reader, query, options);
  const print = printer(options);
  const includes = chosen?.includes ?? isAny;
  if (options.follow === true) {
    await checkIds(place, ids, options);
    if (storesNoLogs(options)) printNote(NO_LOGS);
    return follow(reader, { ...query, ...beginningOf(options, chosen) }, { print, includes });
  }
  if (options.lines === 0) return checkIds(place, ids, options);
  const shown = within(query, chosen);
  if ((await printStored(reader, shown, { print, includes, lines: options.lines })) > 0) return;
  await checkIds(place, ids, options);
  printNote(storesNoLogs(options) ? NO_LOGS : "no matching log entries");
}

function isAny(): boolean {
  return true;
}

async function chosenRuns(reader: LogReader, query: LogQuery, options: Options): Promise<RunFilter | undefined> {
  return options.runs === undefined && options.run === undefined ? undefined : runFilter(reader, query, options);
}

function within(query: LogQuery, chosen: RunFilter | undefined): LogQuery {
  return { ...query, ...(chosen && { from: Math.max(query.from ?? 0, chosen.from ?? 0) }) };
}

/** Lines of several machines, each with its machine. @throws {ProcmanError} `usage`, `process-unknown` */
async function logsOfHosts(names: string, ids: readonly string[], options: Options): Promise<void> {
  const hosts = await import("../../satellites/hosts/host-logs.ts");
  const query = queryOf(ids, options, Date.now());
  await hosts.withHostLogs(names, async (all) => {
    const known = await hosts.answersOf(all, ({ processes }) => processes());
    const refusals = known.flatMap(([, records]) => refusalOf(records, ids, options));
    if (refusals.length > 0 && refusals.length === known.length) throw refusals[0];
    const answering = known.map(([log]) => log);
    const filters = new Map(await hosts.answersOf(answering, ({ reader }) => chosenRuns(reader, query, options)));
    if (options.follow === true) return followHosts(all, { query, filters, options });
    if (options.lines !== 0) await printHosts(answering, { query, filters, options });
  });
}

type HostQuery = {
  readonly query: LogQuery;
  readonly filters: ReadonlyMap<HostLog, RunFilter | undefined>;
  readonly options: Options;
};

async function followHosts(logs: readonly HostLog[], { query, filters, options }: HostQuery): Promise<void> {
  const { followLogs } = await import("../../satellites/hosts/host-logs.ts");
  const { signal } = untilStopped();
  const print = hostPrinter(options);
  // A host that is away is waited for.
  process.exitCode = EXIT.done;
  const items = ({ reader }: HostLog, chosen: RunFilter | undefined): AsyncIterable<LogItem> =>
    reader.follow({ ...query, ...beginningOf(options, chosen) }, signal);
  await followLogs(
    logs,
    (log) => items(log, filters.get(log)),
    async (log, item) => {
      if (item.type === "gap") return print.gap(item.bytes);
      if ((filters.get(log)?.includes ?? isAny)(item.entry)) await print.entry(log.host, item.entry);
    },
  );
}

async function printHosts(logs: readonly HostLog[], { query, filters, options }: HostQuery): Promise<void> {
  const { mergedLogs } = await import("../../satellites/hosts/host-logs.ts");
  const print = hostPrinter(options);
  const { lines } = options;
  const merged = mergedLogs(logs, (log) => {
    const chosen = filters.get(log);
    return stored(log.reader, within(query, chosen), { includes: chosen?.includes ?? isAny, lines });
  });
  const count = lastCount(query, lines);
  const last: (readonly [string, LogEntry])[] = [];
  let isEmpty = true;
  for await (const { host, entry } of merged) {
    isEmpty = false;
    if (count === undefined) await print.entry(host, entry);
    else last.push([host, entry]);
  }
  for (const [host, entry] of last.slice(-(count ?? 0))) await print.entry(host, entry);
  if (isEmpty) printNote("no matching log entries");
}

/** Where a follower begins. */
function beginningOf({ lines = LINES }: Options, chosen: RunFilter | undefined): LogQuery {
  if (chosen !== undefined) return { from: chosen.from ?? Date.now() };
  return lines === 0 ? { from: Date.now() } : { limit: Math.min(lines, 10_000) };
}

function printNote(text: string): void {
  process.stderr.write(`procman: ${text}\n`);
}

type ShownEntries = { readonly print: Printer; readonly includes: RunFilter["includes"] };

/** Returns the number of entries. */
async function printStored(
  reader: LogReader,
  query: LogQuery,
  { print, includes, lines }: ShownEntries & { readonly lines: number | undefined },
): Promise<number> {
  const pages = stored(reader, query, { includes, lines });
  let count = 0;
  for (let next = await searching(pages.next()); next.done !== true; next = await searching(pages.next())) {
    await print.entries(next.value);
    count += next.value.length;
  }
  return count;
}

/** How many of the last entries are shown; undefined: all in a range. */
function lastCount({ from, to, search, where, regex }: LogQuery, lines: number | undefined): number | undefined {
  const isRange = [from, to, search, where, regex].some((each) => each !== undefined);
  return lines ?? (isRange ? undefined : LINES);
}

type ChosenEntries = { readonly includes: RunFilter["includes"]; readonly lines: number | undefined };

/** In pages, oldest first. */
async function* stored(
  reader: LogReader,
  query: LogQuery,
  { includes, lines }: ChosenEntries,
): AsyncGenerator<readonly LogEntry[], undefined> {
  const count = lastCount(query, lines);
  if (count !== undefined) yield await reader.last(query, count, includes);
  else for await (const { entries } of reader.all(query)) yield entries.filter(includes);
}

/** No progress beside the output of another program, such as a pager. */
function searching<T>(work: Promise<T>): Promise<T> {
  return process.stdout.isTTY ? withProgress(() => "searching the log", work) : work;
}

/** Checks ids without entries: a removed process may have stored lines, an unknown id is a typing error. @throws {ProcmanError} `process-unknown` */
async function checkIds(place: ApiPlace, ids: readonly string[], target: TargetOptions): Promise<void> {
  if (ids.length === 0) return;
  try {
    selected(await (await connectTo(place)).processes(), ids, target);
  } catch (error) {
    if (!(error instanceof ProcmanError) || error.exitCode !== EXIT.noDaemon || "url" in place) throw error;
    for (const id of ids) await storedMembersOf(place, id, target);
  }
}

/** `logs flush`, as in other tools: no process has this name. */
function explainFlush(error: unknown): never {
  if (!(error instanceof ProcmanError) || error.code !== "process-unknown") throw error;
  throw new ProcmanError(error.code, `${error.message} "procman flush" empties the logs`);
}

/** The processes that an id stands for, by file and disk. */
async function storedMembersOf(place: ApiPlace, id: string, target: TargetOptions): Promise<readonly string[]> {
  if ("url" in place) return [id];
  const { membersOf } = await import("../../client/connection/history.ts");
  return membersOf(dataOfTarget(target), place.stateDir, id);
}

async function follow(reader: LogReader, query: LogQuery, { print, includes }: ShownEntries): Promise<void> {
  const { signal } = untilStopped();
  for await (const item of reader.follow(query, signal))
    await (item.type === "entry" ? print.entries([item.entry].filter(includes)) : print.gap(item.bytes));
  if (!signal.aborted) printNote("procman is not running; end of log");
}

function untilStopped(): AbortController {
  const stop = new AbortController();
  // A second Ctrl-C kills the command.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  return stop;
}

/** Whether a machine has none of the name. */
function refusalOf(records: readonly ProcessRecord[], ids: readonly string[], options: Options): readonly Error[] {
  try {
    selected(records, ids, options);
    return [];
  } catch (error) {
    if (error instanceof ProcmanError && error.code === "process-unknown") return [error];
    throw error;
  }
}

function queryOf(
  ids: readonly string[],
  { severity, category, since, until, search, where, regex }: Options,
  now: number,
): LogQuery {
  const processes = ids.includes("all") ? [] : [...new Set(ids)];
  return compact({
    ...(processes.length === 0 ? {} : { processes }),
    severity,
    categories: category,
    ...(since === undefined ? {} : { from: timeOf("--since", since, now) }),
    ...(until === undefined ? {} : { to: timeOf("--until", until, now) }),
    search,
    where,
    regex,
  });
}

type Printer = {
  readonly entries: (entries: readonly LogEntry[]) => Promise<void>;
  readonly gap: (bytes: number) => Promise<void>;
};

function printer({ json, color, raw, ...target }: Options): Printer {
  // A pipe gets lines of JSON as they are, for programs.
  const lines = new LogFormatter(color && wantsColors(process.stdout), process.stdout.isTTY === true);
  if (json !== true && raw !== true && target.host === undefined) lines.reserve(printedIdsInFile(targetFile(target)));
  const line = (entry: LogEntry): string =>
    json === true ? `${printableJson(entry)}\n` : raw === true ? `${entry.text}\n` : lines.line(entry);
  return {
    entries: (entries) => {
      lines.reserve(entries.flatMap(({ process: id }) => id ?? []));
      return out(entries.map(line).join(""));
    },
    // With --json, standard output has only entries.
    gap: async (bytes) => (json === true ? void process.stderr.write(lines.gap(bytes)) : out(lines.gap(bytes))),
  };
}

type HostPrinter = Pick<Printer, "gap"> & { readonly entry: (host: string, entry: LogEntry) => Promise<void> };

/** The machine stands in front of the process. */
function hostPrinter(options: Options): HostPrinter {
  const { entries, gap } = printer(options);
  return {
    gap,
    entry: (host, entry) =>
      options.json === true
        ? out(`${printableJson({ host, ...entry })}\n`)
        : entries([{ ...entry, process: `${host} ${entry.process ?? OWN_ID}` }]),
  };
}

/** Waits while the reader is slower. */
async function out(text: string): Promise<void> {
  if (text !== "" && !process.stdout.write(text)) await once(process.stdout, "drain");
}

type RunChoice = { readonly runs?: number; readonly run?: number };

/** Runs of one process. Numbers begin anew with each procman, so the time counts, too. */
type ShownRuns = { readonly from: number; readonly numbers: ReadonlySet<number>; readonly newest: number };

type RunFilter = {
  /** Milliseconds since 1970; undefined: no such run is stored. */
  readonly from: number | undefined;
  readonly includes: (entry: LogEntry) => boolean;
};

/** Finds the runs by the stored entries about their starts. */
async function runFilter(reader: LogReader, { processes }: LogQuery, choice: RunChoice): Promise<RunFilter> {
  const starts = new Map<string, LogEntry[]>();
  const query = { ...STARTS, ...(processes && { processes }) };
  for await (const { entries } of reader.newestFirst(query))
    for (const entry of entries) {
      const known = starts.get(entry.process ?? "") ?? [];
      if (isWanted(entry, known, choice)) starts.set(entry.process ?? "", [...known, entry]);
    }
  const shown = new Map([...starts].map(([id, found]) => [id, shownOf(found, choice)]));
  return {
    from: shown.size === 0 ? undefined : Math.min(...[...shown.values()].map(({ from }) => from)),
    includes: (entry) => isAmong(entry, shown.get(entry.process ?? "")),
  };
}

function isWanted(entry: LogEntry, known: readonly LogEntry[], { runs, run }: RunChoice): boolean {
  if (startedPid(entry) === undefined) return false;
  return run === undefined ? known.length < (runs ?? 0) : entry.run === run && known.length === 0;
}

/** `found`: newest first. */
function shownOf(found: readonly LogEntry[], { run }: RunChoice): ShownRuns {
  return {
    from: Date.parse(found.at(-1)?.time ?? ""),
    numbers: new Set(found.flatMap((entry) => entry.run ?? [])),
    // Later runs are shown by --follow.
    newest: run === undefined ? (found[0]?.run ?? 0) : Number.POSITIVE_INFINITY,
  };
}

function isAmong({ time, run }: LogEntry, shown: ShownRuns | undefined): boolean {
  if (shown === undefined || Date.parse(time) < shown.from) return false;
  if (run === undefined) return shown.newest !== Number.POSITIVE_INFINITY;
  return shown.numbers.has(run) || run > shown.newest;
}
