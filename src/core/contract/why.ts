/** Explains a process in sentences, from its record and its incidents: what has happened, and what to do. */
import { addressText } from "../base/address-text.ts";
import { ProcmanError } from "../base/errors.ts";
import { clockIn, hostTime } from "../base/time-stamp.ts";
import type { EndRecord } from "./causes.ts";
import type { Control } from "./control.ts";
import type { HistoryEntry } from "./history-record.ts";
import { saysLimitRefused } from "./limits.ts";
import { isChange } from "./plan.ts";
import type { LogEntry, ProcessRecord, RunRecord } from "./records.ts";
import { rolloutText } from "./rollout-words.ts";
import { type Incident, isRunEnd, type RunIncident } from "./run-summary.ts";
import { boundsText, unknownText } from "./scale-record.ts";
import { hasFailed, isAsleep, isRunning, isSkipped } from "./status-sets.ts";
import { troubleText, whatFollowed } from "./words.ts";

/** Incidents older than this aren't counted. Milliseconds. */
const RECENT_MS = 24 * 3_600_000;
const SHOWN_LINES = 10;

/** What the state folder has about a process. */
export type PastRuns = {
  readonly id: string;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  readonly unended?: UnendedRun;
  /** Time of the last line in the log, of any process. */
  readonly until?: string;
};

/** A run whose end was not recorded. */
export type UnendedRun = {
  readonly started: string;
  readonly pid: number;
  readonly run?: number;
  /** Its last lines. */
  readonly lines: readonly LogEntry[];
  /** Why there is no end: the machine was rebooted, procman ended, or the run is still alive. */
  readonly how: "machine" | "procman" | "runs";
  /** Time of the reboot. */
  readonly booted?: string;
};

type Advice = { readonly [Cause in RunIncident["cause"]]: (incident: Incident) => string | undefined };

/** Changes of the configuration, newest first; none for a token that doesn't see them, or from a procman that doesn't keep them. */
export async function keptChanges(control: Pick<Control, "history">): Promise<readonly HistoryEntry[]> {
  try {
    return await control.history();
  } catch (error) {
    if (error instanceof ProcmanError && ["scope-missing", "path-unknown"].includes(error.code)) return [];
    throw error;
  }
}

/**
 * `all`: the incidents that are known, and `changes` of the configuration, newest first. The first sentence is the current
 * state, the last ones say what to do.
 */
export function explain(
  record: ProcessRecord,
  all: readonly Incident[],
  now = Date.now(),
  changes: readonly HistoryEntry[] = [],
): string[] {
  const incidents = all.filter(isRunEnd);
  const recent = incidents.filter(({ time }) => now - Date.parse(time) < RECENT_MS);
  const [last] = incidents;
  return [
    currentState(record),
    ...(record.blocked
      ? [`It is blocked: nothing starts it. Lift the block with "procman unblock ${record.id}".`]
      : []),
    ...(record.disabled
      ? [`It is disabled: it starts only by hand. "procman enable ${record.id}" lets it start by itself again.`]
      : []),
    ...awakeNotes(record),
    ...missedStarts(record),
    ...causeCounts(recent, incidents),
    ...(last === undefined ? ["It has not exited yet."] : lastEnd(last)),
    ...repetition(recent),
    ...sinceChange(record.id, recent, changes),
    ...(record.skippedBy === undefined ? adviceOf(record, last) : [skipAdvice(record.id, record.skippedBy)]),
  ];
}

/** Explains a cluster apart from its instances: trouble with its clients, and its size if that is scaled; otherwise empty. `incidents`: newest first. */
export function explainCluster(
  record: ProcessRecord,
  incidents: readonly Incident[] = [],
  now = Date.now(),
): readonly string[] {
  const { id, scale, instances = [], balancer, sleep } = record;
  const hasTrouble = [balancer?.problem, sleep?.turnedAway, sleep?.busy].some((each) => each !== undefined);
  if (scale === undefined) return record.instances !== undefined && hasTrouble ? [currentState(record)] : [];
  const { last, refused, pinned, unknown, nextSchedule, nextMin, nextMax } = scale;
  return [
    currentState(record),
    ...(last === undefined ? [] : [`${last.from} -> ${last.to} at ${timeText(last.time)}: ${last.reason}.`]),
    ...(refused === undefined
      ? []
      : [`Since ${timeText(refused.time)} it stays at ${instances.length}: ${refused.reason}.`]),
    ...formerRefusals(incidents, now),
    ...(unknown === undefined ? [] : [unknownText(unknown)]),
    ...(pinned === undefined
      ? []
      : [`Its load changes nothing while it is pinned: "procman scale ${id} auto" lets it decide again.`]),
    ...(nextSchedule === undefined
      ? []
      : [
          `From ${timeText(nextSchedule)} on it has ${boundsText({ min: nextMin, max: nextMax }) ?? "other bounds"}${pinned ? ", but not while it is pinned" : ""}.`,
        ]),
  ];
}

/** Refused growth of the last day that is over. */
function formerRefusals(incidents: readonly Incident[], now: number): readonly string[] {
  const over = incidents.filter((each) => each.ended !== undefined && now - Date.parse(each.time) < RECENT_MS);
  const [last] = over;
  if (last?.ended === undefined) return [];
  const times = over.length === 1 ? "once" : `${over.length} times`;
  const when = `from ${timeText(last.time)} to ${timeText(last.ended)}`;
  return [`It was refused growth ${times} in the last 24 hours, the last time ${when}: it ${last.reason}.`];
}

function skipAdvice(id: string, skippedBy: readonly string[]): string {
  const failed = skippedBy.at(-1);
  return `"procman why ${failed}" shows how ${failed} ended. When the cause is fixed, "procman start ${failed}" starts it, and ${id} follows.`;
}

/** The same from the state folder, while procman doesn't answer. `isRunning`: its keeper runs. */
export function explainPastRuns(
  { id, incidents: all, unended, until }: PastRuns,
  isRunning: boolean,
  now = Date.now(),
): string[] {
  const incidents = all.filter(isRunEnd);
  const recent = incidents.filter(({ time }) => now - Date.parse(time) < RECENT_MS);
  const [last] = incidents;
  return [
    `procman ${isRunning ? "does not answer" : "is not running"}; its state folder has this about ${id}${until === undefined ? "" : `, until ${timeText(until)}`}.`,
    ...causeCounts(recent, incidents),
    ...(last === undefined ? [] : lastEnd(last)),
    ...repetition(recent),
    ...(last === undefined || !isFailure(last) ? [] : [ADVICE[last.cause](last) ?? []].flat()),
    ...(unended === undefined ? [] : unendedRun(unended)),
    ...(last === undefined && unended === undefined ? ["No run of it is recorded."] : []),
  ];
}

function unendedRun({ started, pid, lines, how, booted }: UnendedRun): string[] {
  const ends = {
    machine: `the machine was rebooted at ${timeText(booted ?? started)}`,
    procman: "procman itself ended during the run",
    runs: "it is still running",
  };
  return [
    `The run started at ${timeText(started)} (pid ${pid}) has no recorded end: ${ends[how]}.`,
    ...(lines.length === 0 ? [] : ["Its last lines:", ...lines.map(({ text }) => `  ${text}`)]),
  ];
}

function currentState(record: ProcessRecord): string {
  const { id, status, pid, started, reason, cause, instances, nextRun, timeZone, runs = [] } = record;
  if (instances !== undefined) return `${id} is a cluster: ${reason}.`;
  const since = started === undefined ? "" : ` since ${timeText(started)}`;
  if (runs.length > 1) return `${id} has ${runs.length} runs: ${runs.map(runText).join(", ")}.`;
  const running = `${id} runs${pid === undefined ? "" : ` (pid ${pid})`}${since}`;
  // procman 1.0.0 gives the sentence alone.
  if (isRunning(record))
    return cause === undefined
      ? `${running}: ${reason}.`
      : `${running}${troubleText(record, cause)}${listeningText(record)}.`;
  if (isSkipped(record) || isAsleep(record)) return `${id} ${reason}.`;
  const next = nextRun === undefined ? "" : ` The next start is at ${timeText(nextRun)}${zoneText(nextRun, timeZone)}.`;
  return `${id} does not run (${status}): it ${reason}.${next}`;
}

/** Its port for clients, which the load balancer can't open. */
function listeningText({ balancer }: ProcessRecord): string {
  return balancer?.problem === undefined ? "" : `; not listening on ${addressText(balancer)}: ${balancer.problem}`;
}

function zoneText(time: string, timeZone: string | undefined): string {
  const clock = timeZone === undefined ? undefined : clockIn(timeZone, Date.parse(time));
  return clock === undefined ? "" : ` (${clock} in ${timeZone})`;
}

/** What keeps it awake, and clients for which it did not wake in time. While it sleeps, `reason` has them. */
function awakeNotes(record: ProcessRecord): string[] {
  const { busy, turnedAway = 0 } = (isRunning(record) && record.sleep) || {};
  const clients = turnedAway === 1 ? "1 client was" : `${turnedAway} clients were`;
  return [
    ...(busy === undefined ? [] : [`It stays awake: ${busy}.`]),
    ...(turnedAway === 0 ? [] : [`${clients} turned away, as it did not come up in time ("idle.wakeTimeout").`]),
  ];
}

function missedStarts({ missed }: ProcessRecord): string[] {
  if (missed === undefined) return [];
  const { times, first, last, madeUpFor } = missed;
  const when = times === 1 ? `at ${timeText(first)}` : `${times} times from ${timeText(first)} to ${timeText(last)}`;
  const followed = madeUpFor
    ? "It was started once when procman was back."
    : 'Missed starts are skipped; with "catchUp": true one of them is run.';
  return [`Its schedule was missed ${when}, because procman was not running. ${followed}`];
}

function runText({ run, pid, started }: RunRecord): string {
  if (pid === undefined || started === undefined) return `run ${run}`;
  return `run ${run} (pid ${pid}) since ${timeText(started)}`;
}

/** Counts causes. A count is a minimum once earlier incidents are no longer stored. */
function causeCounts(recent: readonly Incident[], incidents: readonly Incident[]): string[] {
  const oldest = recent.length === incidents.length ? recent.at(-1) : undefined;
  const count = recent.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
  if (count < 2) return [];
  const causes = new Map<Incident["cause"], number>();
  for (const { cause, leftOut = 0 } of recent) causes.set(cause, (causes.get(cause) ?? 0) + 1 + leftOut);
  const atLeast = (oldest?.run ?? 1) > 1 ? "at least " : "";
  const parts = [...causes]
    .sort(([, one], [, other]) => other - one)
    .map(([cause, times]) => `${times} × ${CAUSE_NAMES[cause]}`);
  return [`Runs that ended in the last 24 hours: ${atLeast}${count} (${parts.join(", ")}).`];
}

export const CAUSE_NAMES: Readonly<Record<Incident["cause"], string>> = {
  exit: "ended by itself",
  signal: "ended by a signal from elsewhere",
  "out-of-memory": "killed for lack of memory",
  unstartable: "could not be started",
  timeout: "stopped by its timeout",
  unready: "not ready in time",
  unhealthy: "stopped by its health checks",
  idle: "stopped as it had no client",
  "growth-refused": "refused growth",
  memory: "stopped by its memory limit",
  terminate: "stopped by its schedule",
  watch: "restarted for a changed file",
  operator: "stopped by request",
  shutdown: "stopped with procman",
  unknown: "ended while procman was down",
};

/** @example subjectOf(incident) // "run 3 of web (pid 4711)" */
export function subjectOf(incident: Incident): string {
  const { run, process, pid } = incident;
  return isRunEnd(incident) ? `run ${run} of ${process}${pid === undefined ? "" : ` (pid ${pid})`}` : process;
}

function lastEnd(incident: Incident): string[] {
  const { time, reason, decision, next, end, lines, metrics, leftOut } = incident;
  const peak = metrics.reduce((most, { memoryBytes }) => Math.max(most, memoryBytes), 0);
  const cpu = metrics.reduce((most, { cpuPercent }) => Math.max(most, cpuPercent), 0);
  return [
    `At ${timeText(time)} ${subjectOf(incident)} ${reason}. ${next === undefined ? `What followed: ${decision}.` : whatFollowed(next)}`,
    ...(end?.core === undefined ? [] : [coreText(end.core)]),
    ...(leftOut === undefined ? [] : [`${leftOut} ends just before this one came too fast to be recorded.`]),
    ...(peak === 0
      ? []
      : [`In the minutes before, it used up to ${megabytes(peak)} of memory and ${Math.round(cpu)} % of a core.`]),
    ...(lines.length === 0 ? [] : ["Its last lines:", ...excerpt(lines).map((text) => `  ${text}`)]),
  ];
}

function coreText({ file, program, command }: NonNullable<EndRecord["core"]>): string {
  if (file !== undefined) return `Its core dump is ${file}.`;
  const passed = `The kernel passes core dumps to ${program}`;
  return command === undefined ? `${passed}.` : `${passed}: see "${command}".`;
}

/** The last lines, and before them an earlier error line, in case they are only its stack trace. */
export function excerpt(lines: Incident["lines"]): readonly string[] {
  const texts = lines.map(({ text }) => text);
  const earlier = texts.slice(0, -SHOWN_LINES);
  const errorLine =
    earlier.findLast(isHeapFull) ??
    (texts.slice(-SHOWN_LINES).some(isErrorLine) ? undefined : earlier.findLast(isErrorLine));
  return [...(errorLine === undefined ? [] : [errorLine, "…"]), ...texts.slice(-SHOWN_LINES)];
}

/** The line that Node, Python, Java and others write above or below a stack trace: `TypeError: x is not a function`, `Error [ERR_X]: …`. */
export function isErrorLine(text: string): boolean {
  return /^(?:Uncaught |Exception in thread "[^"]*" )?(?:[\w$]+\.)*[A-Z]?\w*(?:Error|Exception)(?: \[\w+\])?: /.test(
    text,
  );
}

/** The line that V8 writes when its heap is full, before it ends by SIGABRT. */
function isHeapFull(text: string): boolean {
  return text.startsWith("FATAL ERROR: ") && text.endsWith("heap out of memory");
}

/** A sentence about three or more equal ends, which have a common cause. */
function repetition(recent: readonly Incident[]): string[] {
  const [last] = recent;
  if (last === undefined || recent.length < 3 || !isFailure(last)) return [];
  const same = recent.filter(
    ({ cause, code, signal }) => cause === last.cause && code === last.code && signal === last.signal,
  );
  return same.length < 3 ? [] : [`It has ended in the same way ${same.length} times: restarting does not help.`];
}

/** A sentence about the failures since the last change of the process, if there are any. */
function sinceChange(id: string, recent: readonly Incident[], changes: readonly HistoryEntry[]): string[] {
  const applied = changes.filter(({ result }) => result === "applied");
  const at = applied.findIndex(({ processes = [] }) => processes.some((each) => each.process === id && isChange(each)));
  const change = applied[at];
  if (change === undefined) return [];
  const since = recent.filter((incident) => isFailure(incident) && incident.time > change.time);
  const times = since.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
  if (times === 0) return [];
  const crashed = since.every(({ cause }) => cause === "exit" || cause === "signal") ? "crashed" : "failed";
  const before = applied[at + 1];
  const remedy =
    before === undefined
      ? ""
      : `; "procman diff ${before.number} ${change.number}" shows the change, "procman rollback ${before.number}" takes it back`;
  return [
    `Since the change at ${timeText(change.time)}${change.rollout === undefined ? "" : ` (${rolloutText(change.rollout)})`} it has ${crashed} ${times === 1 ? "once" : `${times} times`}${remedy}.`,
  ];
}

export function adviceOf(record: ProcessRecord, last: RunIncident | undefined): string[] {
  if (last === undefined || !isFailure(last)) return [];
  // It has been started since.
  if (last.cause === "unstartable" && isRunning(record)) return [];
  const advice = ADVICE[last.cause](last);
  const startAgain = hasFailed(record) ? [`When the cause is fixed: "procman start ${record.id}".`] : [];
  return [...(advice === undefined ? [] : [advice]), ...startAgain];
}

const CRASHES = ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"];

const HEAP_FULL =
  'Its JavaScript heap was full: look for a leak, or enlarge the heap with "env": { "NODE_OPTIONS": "--max-old-space-size=4096" } (in MB).';

const ADVICE: Advice = {
  exit: ({ code, lines, process, end }) => {
    if (end?.port !== undefined) return siblingAdvice(process, end.port);
    if (lines.some(({ text }) => saysLimitRefused(text)))
      return 'Lower that limit in "ulimits", or raise the hard limit of the user that procman runs as (in limits.conf or, for systemd, with LimitNOFILE= and similar), and start procman again.';
    if (lines.some(({ text }) => isHeapFull(text))) return HEAP_FULL;
    if (code === 126) return "The command can't be executed: look at its permissions.";
    if (code === 127) return 'The shell found no such command: look at "cmd" and PATH.';
    const where = lines.length === 0 ? `"procman logs ${process}" may say` : "its last lines may say";
    return `It ended with code ${code} by itself: ${where} why.`;
  },
  signal: ({ signal = "", lines, end }) => {
    if (lines.some(({ text }) => isHeapFull(text))) return HEAP_FULL;
    const where =
      end?.core === undefined
        ? 'run it in a debugger, or let the kernel write a core dump: "ulimits": { "core": "unlimited" }'
        : "look at its core dump in a debugger";
    return CRASHES.includes(signal)
      ? `${signal} is a crash of the program or one of its libraries: ${where}.`
      : `${signal} did not come from procman: another program, a person or the system sent it; the system's log (journalctl, dmesg) may say which.`;
  },
  "out-of-memory": () =>
    'Look for a leak, give it less work at a time, or allow more memory: for the machine, for the container, or by "memoryMax" if that is set.',
  unstartable: () => "Correct the problem above in the configuration, or on the machine.",
  idle: () => undefined,
  unready: () => 'Find out what it waits for, or raise "ready.timeout".',
  unhealthy: () =>
    'Find out why it failed its checks; if it was only slow, raise "health.timeout" or "health.failures".',
  memory: () => 'Look for a leak, or raise "memoryLimit" (or "memoryMax" if only that is set).',
  timeout: () => 'Find out what it waits for, or raise "timeout".',
  unknown: ({ process }) =>
    `Its exit code was lost because the keeper, its parent, was killed; "procman logs ${process}" may say more.`,
  terminate: () => undefined,
  watch: () => undefined,
  operator: () => undefined,
  shutdown: () => undefined,
};

/** The instances of a cluster without ports of their own; about another program the reason says enough. */
function siblingAdvice(id: string, { process = "", own }: NonNullable<EndRecord["port"]>): string | undefined {
  const clusterOf = (instance: string): string | undefined => /^(.+)-\d+$/.exec(instance)?.[1];
  if (own !== undefined || clusterOf(id) === undefined || clusterOf(id) !== clusterOf(process)) return undefined;
  return 'Its instances want the same port: "cluster.startPort" gives each its own, in PORT; with "mode": "share" they share one.';
}

function isFailure({ cause, code, success }: Incident): boolean {
  if (success === true) return false;
  if (cause === "exit") return code !== 0;
  return ["signal", "out-of-memory", "unstartable", "timeout", "unready", "unhealthy", "memory", "unknown"].includes(
    cause,
  );
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e5) / 10} MB`;
}

function timeText(time: string): string {
  return hostTime(Date.parse(time));
}
