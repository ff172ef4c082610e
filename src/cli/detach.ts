/** `procman run --detach`: starts procman in the background and returns when its processes have started, or have failed. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Daemon,
  type DaemonEnd,
  outputOf,
  START_TIMEOUT_MS,
  startDaemon,
  waitForStart,
} from "../client/connection/daemon.ts";
import { lastingHolder, livingHolder } from "../client/connection/endpoint-file.ts";
import { packageRoot } from "../client/connection/package-root.ts";
import { EXIT, ProcmanError } from "../core/base/errors.ts";
import { printableOutput } from "../core/base/printable.ts";
import { displayPath, read } from "../core/config/config-file.ts";
import { check } from "../core/config/load.ts";
import { warningLine } from "../core/config/problems.ts";
import { checkSelection, isNamed, namesProcesses, withSelection } from "../core/config/run-selection.ts";
import type { Config } from "../core/config/spec.ts";
import { wantsColors } from "../core/os/colors.ts";
import { copyNotice, inUseText, originOfRecords } from "../core/os/lock.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { checkStateFolder } from "../core/os/state-folder.ts";
import { printWarnings } from "./edit-file.ts";
import { isJson, jsonLine } from "./output/error-report.ts";
import { waitFor } from "./output/progress.ts";
import { statusTable } from "./output/status-table.ts";
import {
  printLate,
  printStartDocument,
  printStartProblem,
  type SettledStart,
  type StartSummary,
  settledStart,
} from "./settled-start.ts";

export type DetachOptions = {
  readonly ids?: readonly string[];
  readonly config?: string;
  readonly console?: boolean;
  readonly watchConfig?: boolean;
  readonly once?: boolean;
  readonly exitWith?: string;
  readonly profile?: string;
  readonly wait?: boolean;
  /** How long to wait for the start, in seconds. */
  readonly timeout?: number;
  /** Id of a process without which procman ends again. */
  readonly trial?: string;
  /** Prints one document instead of the table. */
  readonly json?: boolean;
};

/** Seconds. */
const DEFAULT_WAIT_SECONDS = 60;

/**
 * Returns the states; undefined: it has ended, also because the process of `trial` isn't up.
 *
 * @throws {ProcmanError} those of `load`; `already-running`, `state-folder`, `service-down`
 */
export async function runDetached(
  {
    config: path,
    console = false,
    watchConfig = false,
    ids = [],
    once = false,
    exitWith,
    profile,
    ...waiting
  }: DetachOptions,
  timeoutMs = START_TIMEOUT_MS,
): Promise<SettledStart | undefined> {
  const selection = { ids, once, exitWith };
  const found = check(read(path, startFolder(path)), {
    startsNamed: namesProcesses(selection),
    ...(profile !== undefined && { profile }),
  });
  checkSelection(selection, found);
  const config = withSelection(found, selection);
  checkStateFolder(config.stateDir);
  const first = await lastingHolder(config.stateDir);
  if (first !== undefined)
    throw new ProcmanError("already-running", `Cannot run: ${inUseText(first, config.stateDir, config.file)}`);
  const args = [
    ...(console ? ["--console"] : []),
    ...(watchConfig ? ["--watch-config"] : []),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...(once ? ["--once"] : []),
    ...ids,
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
  ];
  const origin = originOfRecords(config.stateDir);
  if (origin !== undefined && !isJson()) process.stderr.write(`procman: ${copyNotice(config.stateDir, origin)}\n`);
  const since = Date.now();
  const daemon = startDaemon(config, join(packageRoot(), "dist/procman.cjs"), args);
  const continues = (): string =>
    `the start continues in the background (pid ${daemon.child.pid}), "procman terminate" stops it`;
  try {
    const outcome = await waitFor(
      { doing: () => "starting", continues },
      comeUp(config, daemon, { since, timeoutMs, ...waiting }),
    );
    return await report(outcome, config, daemon, waiting);
  } finally {
    daemon.child.unref();
  }
}

/** Prints how the start has ended, and sets the exit code. undefined: procman doesn't run. */
async function report(
  outcome: StartOutcome,
  config: Config,
  daemon: Daemon,
  { trial, json = false, ...waiting }: Pick<DetachOptions, "trial" | "json"> & Waiting,
): Promise<SettledStart | undefined> {
  if ("end" in outcome) reportEnd(outcome.end, outputOf(daemon, outcome.end));
  else if ("hasEnded" in outcome) await reportEarlyEnd(config, daemon, json);
  else if (trial !== undefined && hasFailed(trial, config, outcome.settled)) {
    daemon.child.kill("SIGTERM");
    await daemon.ended;
  } else {
    if (json) printStartDocument(startOf(config, daemon), outcome.settled);
    else if (!isJson()) printStates(config, daemon, outcome.settled);
    reportFailures(outcome.settled, waiting);
    return outcome.settled;
  }
  return undefined;
}

function hasFailed(trial: string, { processes }: Config, { failed }: SettledStart): boolean {
  return failed.some(({ id }) => processes.some((spec) => spec.id === id && isNamed(trial, spec)));
}

function reportEnd([code, signal]: DaemonEnd, output: string): void {
  const text = `${output}${signal === null ? "" : `procman: was killed by ${signal} before it had come up\n`}`;
  process.exitCode = code ?? EXIT.refused;
  if (!isJson()) process.stderr.write(printableOutput(text, wantsColors(process.stderr)));
  else if (code !== EXIT.done)
    process.stderr.write(jsonLine(new ProcmanError("start-failed", text.replaceAll(/^procman: /gm, "").trim())));
}

/** procman had come up, and has ended since. */
async function reportEarlyEnd(config: Config, daemon: Daemon, json: boolean): Promise<void> {
  if (json) printStartDocument(startOf(config, daemon), { records: [], failed: [], late: [] });
  const [code, signal] = await daemon.ended;
  const how = signal === null ? `with code ${code}` : `by ${signal}`;
  reportEnd(
    [code, null],
    `${readFileSync(daemon.log, "utf8")}procman: ${config.name} has ended ${how}. Its log: ${consoleOf(config)}\n`,
  );
}

function startOf({ warnings }: Config, { child }: Daemon): StartSummary {
  return { started: true, changed: true, pid: child.pid, warnings: warnings.map(warningLine) };
}

function consoleOf({ stateDir }: Config): string {
  return displayPath(join(stateDir, "logs/console.log"), startFolder(stateDir));
}

type Waiting = Pick<DetachOptions, "wait" | "timeout">;

/** How a start ended: the daemon ended before it had come up, has ended since, or runs. */
type StartOutcome = { readonly end: DaemonEnd } | { readonly hasEnded: true } | { readonly settled: SettledStart };

async function comeUp(
  config: Config,
  daemon: Daemon,
  {
    since,
    timeoutMs,
    wait = false,
    timeout = DEFAULT_WAIT_SECONDS,
  }: Waiting & { readonly since: number; readonly timeoutMs: number },
): Promise<StartOutcome> {
  const end = await waitForStart(config, daemon, timeoutMs);
  if (end !== undefined) return { end };
  try {
    const settled = await settledStart(config, {
      since,
      untilReady: wait,
      timeoutMs: wait ? timeout * 1_000 : START_TIMEOUT_MS,
      onFailed: (record, client) => printStartProblem(client, record, since),
    });
    return { settled };
  } catch (error) {
    // With --exit-with or --once, or because it was stopped.
    if (
      error instanceof ProcmanError &&
      error.exitCode === EXIT.noDaemon &&
      livingHolder(config.stateDir) === undefined
    )
      return { hasEnded: true };
    throw error;
  }
}

function printStates(config: Config, daemon: Daemon, { records }: SettledStart): void {
  printWarnings(config);
  process.stdout.write(
    `${statusTable(records, process.stdout)}\n\n${config.name} is running in the background (pid ${daemon.child.pid}), "procman terminate" stops it. Its log: ${consoleOf(config)}\n`,
  );
}

function reportFailures({ failed, late }: SettledStart, { timeout = DEFAULT_WAIT_SECONDS }: Waiting): void {
  if (failed.length + late.length > 0) process.exitCode = EXIT.refused;
  printLate(late, timeout);
}
