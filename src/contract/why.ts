/** What has happened to a process, and what to do about it: from its record and its incidents to sentences. */
import type { Incident, LogEntry, ProcessRecord } from "./records.ts";

/** An incident so long ago is no part of the present story. Milliseconds. */
const TODAY_MS = 24 * 3_600_000;
const SHOWN_LINES = 10;

/** What is on disk about a process. */
export type PastRuns = {
  readonly id: string;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  readonly unended?: Unended;
  /** Time of the last line in the log, whoever said it. */
  readonly until?: string;
};

/** A run that was started, and of whose end nothing is known. */
export type Unended = {
  readonly started: string;
  readonly pid: number;
  /** Its last ones. */
  readonly lines: readonly LogEntry[];
  /** Whether the machine was started anew since, or procman alone has ended, or it runs on. */
  readonly how: "machine" | "procman" | "runs";
  /** Then the machine was started. */
  readonly booted?: string;
};

type Advice = { readonly [Cause in Incident["cause"]]: (incident: Incident) => string | undefined };

/** `incidents`: newest first. The first sentence says what is the case now; the last ones what to do. */
export function explain(record: ProcessRecord, incidents: readonly Incident[], now = Date.now()): string[] {
  const recent = incidents.filter(({ time }) => now - Date.parse(time) < TODAY_MS);
  const [last] = incidents;
  return [
    present(record),
    ...(record.blocked ? [`It is blocked: nothing but a request by hand starts it. Lift that with "procman unblock ${record.id}".`] : []),
    ...history(recent),
    ...(last === undefined ? ["No run of it has ended yet, as far as is known."] : ending(last)),
    ...repetition(recent),
    ...adviceOf(record, last),
  ];
}

/** What is on disk about a process, while procman does not answer: it does not run, or only its keeper does. */
export function recount({ id, incidents, unended, until }: PastRuns, isRunning: boolean, now = Date.now()): string[] {
  const recent = incidents.filter(({ time }) => now - Date.parse(time) < TODAY_MS);
  const [last] = incidents;
  return [
    `procman ${isRunning ? "does not answer" : "is not running"}; this is what it has left on disk about ${id}${until === undefined ? "" : `, until ${moment(until)}`}.`,
    ...history(recent),
    ...(last === undefined ? [] : ending(last)),
    ...repetition(recent),
    ...(last === undefined || !isFailure(last) ? [] : [ADVICE[last.cause](last) ?? []].flat()),
    ...(unended === undefined ? [] : unfinished(unended)),
    ...(last === undefined && unended === undefined ? ["No run of it is on record."] : []),
  ];
}

function unfinished({ started, pid, lines, how, booted }: Unended): string[] {
  const ends = {
    machine: `the machine was started anew since, at ${moment(booted ?? started)}`,
    procman: "procman itself was ended in the middle of it",
    runs: "it still runs",
  };
  return [
    `At ${moment(started)} it was started (pid ${pid}), and the end of that run is not on record: ${ends[how]}.`,
    ...(lines.length === 0 ? [] : ["Its last lines:", ...lines.map(({ text }) => `  ${text}`)]),
  ];
}

function present({ id, status, pid, started, reason, instances, nextRun }: ProcessRecord): string {
  if (instances !== undefined) return `${id} is a cluster: ${reason}.`;
  const since = started === undefined ? "" : ` since ${moment(started)}`;
  if (status === "running") return `${id} runs${pid === undefined ? "" : ` (pid ${pid})`}${since}.`;
  const next = nextRun === undefined ? "" : ` It is started next at ${moment(nextRun)}.`;
  return `${id} does not run (${status}): it ${reason}.${next}`;
}

function history(recent: readonly Incident[]): string[] {
  const count = recent.reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
  if (count < 2) return [];
  const causes = new Map<Incident["cause"], number>();
  for (const { cause, leftOut = 0 } of recent) causes.set(cause, (causes.get(cause) ?? 0) + 1 + leftOut);
  const parts = [...causes].sort(([, one], [, other]) => other - one).map(([cause, times]) => `${times} × ${NAMES[cause]}`);
  return [`Runs of it that ended in the last 24 hours: ${count} (${parts.join(", ")}).`];
}

const NAMES: Readonly<Record<Incident["cause"], string>> = {
  exit: "ended by itself",
  signal: "ended by a signal from elsewhere",
  "out-of-memory": "killed for want of memory",
  unstartable: "could not be started",
  timeout: "stopped by its timeout",
  unready: "not ready in time",
  unhealthy: "stopped by its health checks",
  memory: "stopped by its memory limit",
  terminate: "stopped by its schedule",
  watch: "restarted for a changed file",
  operator: "stopped by request",
  shutdown: "stopped with procman",
  unknown: "ended while procman was away",
};

function ending({ time, run, pid, reason, decision, lines, metrics, process, leftOut }: Incident): string[] {
  const peak = metrics.reduce((most, { memoryBytes }) => Math.max(most, memoryBytes), 0);
  const cpu = metrics.reduce((most, { cpuPercent }) => Math.max(most, cpuPercent), 0);
  return [
    `At ${moment(time)} run ${run} of ${process}${pid === undefined ? "" : ` (pid ${pid})`} ${reason}. What followed: ${decision}.`,
    ...(leftOut === undefined ? [] : [`${leftOut} ends just before it came too fast to be written down.`]),
    ...(peak === 0 ? [] : [`Before that it had at most ${megabytes(peak)} of memory and ${Math.round(cpu)} % of a core.`]),
    ...(lines.length === 0 ? [] : ["Its last lines:", ...shown(lines).map((text) => `  ${text}`)]),
  ];
}

/** The last ones, and before them what tells more than what follows it: a trace. */
function shown(lines: Incident["lines"]): readonly string[] {
  const texts = lines.map(({ text }) => text);
  const earlier = texts.slice(0, -SHOWN_LINES);
  const telling = earlier.findLast(isHeapFull) ?? (texts.slice(-SHOWN_LINES).some(isError) ? undefined : earlier.findLast(isError));
  return [...(telling === undefined ? [] : [telling, "…"]), ...texts.slice(-SHOWN_LINES)];
}

/** What Node, Python, Java and others write above or below a trace: `TypeError: x is not a function`, `Error [ERR_X]: …`. */
function isError(text: string): boolean {
  return /^(?:Uncaught |Exception in thread "[^"]*" )?(?:[\w$]+\.)*[A-Z]?\w*(?:Error|Exception)(?: \[\w+\])?: /.test(text);
}

/** What V8 writes when its heap is full, and ends by SIGABRT. */
function isHeapFull(text: string): boolean {
  return text.startsWith("FATAL ERROR: ") && text.endsWith("heap out of memory");
}

/** The same end again and again has one cause. */
function repetition(recent: readonly Incident[]): string[] {
  const [last] = recent;
  if (last === undefined || recent.length < 3 || !isFailure(last)) return [];
  const alike = recent.filter(({ cause, code, signal }) => cause === last.cause && code === last.code && signal === last.signal);
  return alike.length < 3 ? [] : [`It has ended in the same way ${alike.length} times: what ails it does not go away by a restart.`];
}

function adviceOf(record: ProcessRecord, last: Incident | undefined): string[] {
  if (last === undefined || !isFailure(last)) return [];
  // It could be started since.
  if (last.cause === "unstartable" && record.status === "running") return [];
  const advice = ADVICE[last.cause](last);
  const again = ["errored", "exhausted"].includes(record.status) ? [`When that is done: "procman start ${record.id}".`] : [];
  return [...(advice === undefined ? [] : [advice]), ...again];
}

/** What is said where a run can't have its `ulimits`. */
const NO_LIMIT = "Cannot start: the limit ";

const HEAP_FULL =
  'Its JavaScript heap was full: look for a leak, or give it more by "env": { "NODE_OPTIONS": "--max-old-space-size=4096" } (in MB).';

const ADVICE: Advice = {
  exit: ({ code, lines, process }) => {
    if (lines.some(({ text }) => text.startsWith(NO_LIMIT)))
      return 'Lower that limit in "ulimits", or raise the hard limit of the user that procman runs as (limits.conf, or LimitNOFILE= and its like of systemd), and run procman anew.';
    if (lines.some(({ text }) => isHeapFull(text))) return HEAP_FULL;
    if (code === 126) return "The command may not be executed: look at its permissions.";
    if (code === 127) return 'The shell found no such command: look at "cmd" and PATH.';
    const where = lines.length === 0 ? `"procman logs ${process}" may say` : "its last lines may say";
    return `It ended with code ${code} by itself: ${where} why.`;
  },
  signal: ({ signal, lines }) => {
    if (lines.some(({ text }) => isHeapFull(text))) return HEAP_FULL;
    return signal === "SIGSEGV" || signal === "SIGABRT" || signal === "SIGBUS" || signal === "SIGILL"
      ? `${signal} is a crash of the program or one of its libraries: look for a core file (coredumpctl), or run it in a debugger.`
      : `Somebody else has sent ${signal}: another program, a person, or the machine; the system's log (journalctl, dmesg) may say who.`;
  },
  "out-of-memory": () =>
    'Look for a leak, give it less to do at a time, or more memory: the machine, the container, or "memoryMax" where that is set.',
  unstartable: () => "Correct what is said above in the configuration, or on the machine.",
  unready: () => 'Find out what it waits for, or raise "ready.timeout".',
  unhealthy: () => 'Find out why it failed its checks; if it only was slow, raise "health.timeout" or "health.failures".',
  memory: () => 'Look for a leak, or raise "memoryLimit" (or "memoryMax", if it has only that).',
  timeout: () => 'Find out what it waits for, or raise "timeout".',
  unknown: ({ process }) => `Its exit code was lost with the keeper that was its parent; "procman logs ${process}" may say more.`,
  terminate: () => undefined,
  watch: () => undefined,
  operator: () => undefined,
  shutdown: () => undefined,
};

function isFailure({ cause, code }: Incident): boolean {
  if (cause === "exit") return code !== 0;
  return ["signal", "out-of-memory", "unstartable", "timeout", "unready", "unhealthy", "memory", "unknown"].includes(cause);
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e5) / 10} MB`;
}

function moment(time: string): string {
  return time.slice(0, 19).replace("T", " ").concat(" UTC");
}
