/** Waits for the processes that start with procman, and says which of them have failed. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { connectTo } from "../client/connection/connect.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { printableJson, printableLine, printableOutput } from "../core/base/printable.ts";
import { PROCESS } from "../core/config/fields/process-fields.ts";
import { hasCommonPort } from "../core/config/instances.ts";
import type { Config, ProcessSpec } from "../core/config/spec.ts";
import type { ProcessRecord } from "../core/contract/records.ts";
import type { Incident } from "../core/contract/run-summary.ts";
import {
  hasFinished,
  isAboutToRun,
  isAsleep,
  isDownByFailure,
  isRunning,
  isSkipped,
  isStartingOrRunning,
  isStopping,
  isWaiting,
  wasNeverStarted,
} from "../core/contract/status-sets.ts";
import { excerpt } from "../core/contract/why.ts";
import { portText } from "../core/contract/words.ts";
import { monotonicMs } from "../core/os/clock.ts";
import { isJson, reportRefusal } from "./output/error-report.ts";
import { printAbove } from "./output/progress.ts";

const POLL_MS = 25;
/** Lines of a run arrive in the log store this long after its end, if the machine is busy. Milliseconds. */
const LINES_MS = 500;

type SettleOptions = {
  /** The start of the command; milliseconds since 1970. What happened earlier doesn't count. */
  readonly since: number;
  /** What has failed earlier, and is down since, counts, too. */
  readonly countsEarlierFailures?: boolean;
  /** Until all are ready, too; else only until none is likely to fail at once. */
  readonly untilReady: boolean;
  readonly timeoutMs: number;
  /** Called once for each process that has failed, as soon as it has. */
  readonly onFailed: (record: ProcessRecord, client: Client) => Promise<void>;
};

export type SettledStart = {
  readonly records: readonly ProcessRecord[];
  readonly failed: readonly ProcessRecord[];
  /** With `untilReady`: not up when the time was over. */
  readonly late: readonly ProcessRecord[];
};

type StartProgress = "up" | "failed" | "coming" | "slow";

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function settledStart(
  config: Config,
  { since, countsEarlierFailures = false, untilReady, timeoutMs, onFailed }: SettleOptions,
): Promise<SettledStart> {
  const client = await connectTo(config);
  const deadline = monotonicMs() + timeoutMs;
  const specs = config.processes.filter(({ autostart, watch }) => autostart || watch.length > 0);
  const reports = new Map<string, Promise<void>>();
  const report = (record: ProcessRecord): void => {
    if (reports.has(record.id)) return;
    const reported = onFailed(record, client);
    reports.set(record.id, reported);
    // Awaited below.
    reported.catch(() => undefined);
  };
  for (;;) {
    const records = await client.processes();
    const found = foundIn(records, specs, { since, downSince: countsEarlierFailures ? 0 : since });
    const of = (...kinds: readonly StartProgress[]): readonly ProcessRecord[] =>
      found.flatMap(({ record, progress }) => (kinds.includes(progress) ? [record] : []));
    const pending = untilReady ? of("coming", "slow") : of("coming");
    // All that is pending waits for processes that have failed.
    const isInVain = of("failed").length > 0 && pending.every(isWaiting);
    const [failed, late] = isInVain ? [[...of("failed"), ...pending], []] : [of("failed"), pending];
    failed.forEach(report);
    if (late.length === 0 || monotonicMs() >= deadline) {
      await Promise.all(reports.values());
      return { records, failed, late: untilReady ? late : [] };
    }
    await sleep(POLL_MS);
  }
}

/** Failures count from these times on: runs that were restarted, and processes that are down. Milliseconds since 1970. */
type CountedSince = { readonly since: number; readonly downSince: number };

function foundIn(
  records: readonly ProcessRecord[],
  specs: readonly ProcessSpec[],
  since: CountedSince,
): readonly FoundProcess[] {
  const members = new Map(
    records.flatMap((record) => record.instances ?? [record]).map((record) => [record.id, record]),
  );
  return specs.flatMap((spec) => {
    const record = members.get(spec.id);
    return record === undefined ? [] : [{ record, progress: progressOf(record, spec, since) }];
  });
}

type FoundProcess = { readonly record: ProcessRecord; readonly progress: StartProgress };

/** Whether a user, or a client of the API, has asked that the process doesn't start. */
function isHeldBack(record: ProcessRecord): boolean {
  return record.blocked || (record.disabled === true && wasNeverStarted(record));
}

/** `slow`: it waits for others, to be ready or to get connections, and shows no sign of failure. */
function progressOf(record: ProcessRecord, spec: ProcessSpec, since: CountedSince): StartProgress {
  const { ready, started = "" } = record;
  const { policy, cluster } = spec;
  if (hasFailed(record, spec, since)) return "failed";
  if (isHeldBack(record)) return "up";
  if (isWaiting(record)) return "slow";
  // What follows a stop is known when its run has ended: it wasn't ready in time, or was stopped by hand.
  if (isAboutToRun(record) || isStopping(record)) return "coming";
  // Its port is open once the load balancer knows of it.
  if (isAsleep(record)) return record.backend === undefined && spec.share === undefined ? "coming" : "up";
  if (!isRunning(record)) return "up";
  if (cluster === undefined && policy.readyMs !== undefined && ready === true) return "up";
  if (Date.now() - Date.parse(started) < (policy.minUptimeMs ?? PROCESS.minUptimeMs.default)) return "coming";
  return serves(record, spec) ? "up" : "slow";
}

function hasFailed(record: ProcessRecord, spec: ProcessSpec, { since, downSince }: CountedSince): boolean {
  const { restarts, healthy, started = "", updated = "" } = record;
  const isDown = isDownByFailure(record) || (hasFinished(record) && hasCommonPort(spec));
  if (isSkipped(record) || (isDown && Date.parse(updated) >= downSince)) return true;
  return (restarts > 0 && Date.parse(started) >= since) || (spec.cluster !== undefined && healthy === false);
}

/** Whether it is ready; an instance also must have passed a health check, and get connections. */
function serves(
  { ready, healthy, backend, accepting }: ProcessRecord,
  { cluster, health, front, share }: ProcessSpec,
): boolean {
  if (ready === false) return false;
  if (cluster === undefined) return true;
  if (health !== undefined && healthy !== true) return false;
  return front === undefined ? share === undefined || accepting === true : backend?.accepting === true;
}

/** Why a process has not come up, with its last lines. */
export async function printStartProblem(client: Client, record: ProcessRecord, since: number): Promise<void> {
  const { id, reason } = record;
  const [last] = isStartingOrRunning(record) ? await client.incidents(id, 1) : [];
  const why = last === undefined ? reason : `${last.reason}; it was restarted`;
  const message = `Cannot start "${id}": it ${printableLine(why)}`;
  if (isJson()) return reportRefusal(new ProcmanError("process-failed", message, { processes: [id] }));
  printAbove([`procman: ${message}`, ...(await lastLinesOf(client, { id, since, told: message })), ""].join("\n"));
}

/** What a command has done, for programs. */
export type StartSummary = {
  /** Whether it has started procman. */
  readonly started: boolean;
  /** Whether it has started or changed anything. */
  readonly changed: boolean;
  /** Pid of a procman that it has started. */
  readonly pid?: number | undefined;
  /** Warnings about the configuration. */
  readonly warnings: readonly string[];
};

/** The one document of `--json`. */
export function printStartDocument(summary: StartSummary, { records, failed, late }: SettledStart): void {
  const idsOf = (list: readonly ProcessRecord[]): readonly string[] => list.map(({ id }) => id);
  const document = { ...summary, failed: idsOf(failed), late: idsOf(late), processes: records };
  process.stdout.write(`${printableJson(document, 2)}\n`);
}

/** `timeout`: in seconds. */
export function printLate(late: readonly ProcessRecord[], timeout: number): void {
  for (const { id, reason } of late) {
    const why = `timed out after ${timeout} s; it ${printableLine(reason)}`;
    reportRefusal(
      new ProcmanError("wait-timeout", `Cannot wait for the start of "${id}": ${why}`, { processes: [id] }),
    );
  }
}

type EndedSince = { readonly id: string; readonly since: number; readonly told: string };

/** The last lines of a run that ended after `since`, each after the id of its process; and who has its port, unless `told` says it. */
export async function lastLinesOf(client: Client, { id, since, told }: EndedSince): Promise<readonly string[]> {
  for (const deadline = monotonicMs() + LINES_MS; ; await sleep(POLL_MS)) {
    const [last]: readonly Incident[] = await client.incidents(id, 1);
    const lines = last === undefined || Date.parse(last.time) < since ? [] : last.lines;
    if (lines.length === 0 && monotonicMs() <= deadline) continue;
    const shown = excerpt(lines).map((text) => `  ${last?.process} | ${printableLine(printableOutput(text, false))}`);
    // It is known only by these lines.
    const port = lines.length === 0 || last?.end?.port === undefined ? "" : printableLine(portText(last.end.port));
    return port === "" || told.includes(port) ? shown : [...shown, `  ${port}`];
  }
}
