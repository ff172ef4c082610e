/** `procman run --detach`: starts procman in the background and returns when its processes have started, or have failed. */

import { readFileSync } from "node:fs";
import { constants as os } from "node:os";
import { join } from "node:path";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { printableLine, printableOutput } from "../base/printable.ts";
import type { Client } from "../client/client.ts";
import { displayPath, readConfigBytes } from "../config/config-file.ts";
import { load } from "../config/load.ts";
import { checkSelection, withSelection } from "../config/run-selection.ts";
import type { Config } from "../config/spec.ts";
import { type Daemon, type DaemonEnd, outputOf, START_TIMEOUT_MS, startDaemon, waitForStart } from "../connection/daemon.ts";
import { packageRoot } from "../connection/package-root.ts";
import type { ProcessRecord } from "../contract/records.ts";
import { wantsColors } from "../os/colors.ts";
import { holderOf } from "../os/lock.ts";
import { checkStateFolder } from "../os/state-folder.ts";
import { printWarnings } from "./edit-file.ts";
import { printAbove, withProgress } from "./progress.ts";
import { lastLinesOf, settledStart } from "./settled-start.ts";
import { statusTable } from "./status-table.ts";

export type DetachOptions = {
  readonly ids?: readonly string[];
  readonly config?: string;
  readonly console?: boolean;
  readonly watchConfig?: boolean;
  readonly once?: boolean;
  readonly exitWith?: string;
  readonly profile?: string;
  readonly wait?: boolean;
  /** Of `wait`. Seconds. */
  readonly timeout?: number;
};

/** Seconds. */
const DEFAULT_WAIT_SECONDS = 60;

/** @throws {ProcmanError} those of `load`; `already-running`, `state-folder`, `service-down` */
export async function runDetached(
  { config: path, console = false, watchConfig = false, ids = [], once = false, exitWith, profile, ...waiting }: DetachOptions,
  timeoutMs = START_TIMEOUT_MS,
): Promise<void> {
  const selection = { ids, once, exitWith };
  const found = load(path, process.cwd(), profile);
  checkSelection(selection, found);
  const config = withSelection(found, selection);
  checkStateFolder(config.stateDir);
  const first = holderOf(config.stateDir);
  if (first !== undefined) throw alreadyRunning(first.pid, config.stateDir);
  const args = [
    ...(console ? ["--console"] : []),
    ...(watchConfig ? ["--watch-config"] : []),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...(once ? ["--once"] : []),
    ...ids,
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
  ];
  const since = Date.now();
  const daemon = startDaemon(config, join(packageRoot(), "dist/procman.cjs"), args);
  const stopWaiting = stopWaitingOnSignal(daemon);
  try {
    const end = await waitForStart(config, daemon, timeoutMs);
    if (end !== undefined) return reportEnd(end, outputOf(daemon, end));
    await reportStart(config, daemon, { since, ...waiting });
  } finally {
    stopWaiting();
  }
}

/** Ctrl-C and closing the terminal end only the waiting. */
function stopWaitingOnSignal({ child }: Daemon): () => void {
  const leave = (signal: NodeJS.Signals): void => {
    process.stderr.write(
      `procman: stopped waiting; the start continues in the background (pid ${child.pid}), "procman terminate" stops it\n`,
    );
    process.exit(128 + os.signals[signal]);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, leave);
  return () => {
    child.unref();
    for (const signal of signals) process.off(signal, leave);
  };
}

function reportEnd([code, signal]: DaemonEnd, output: string): void {
  process.stderr.write(printableOutput(output, wantsColors(process.stderr)));
  if (signal !== null) process.stderr.write(`procman: was ended by ${signal} before it had come up\n`);
  process.exitCode = code ?? EXIT.refused;
}

/** procman had come up, and has ended since. */
async function reportEarlyEnd(config: Config, daemon: Daemon): Promise<void> {
  const [code, signal] = await daemon.ended;
  const how = signal === null ? `with code ${code}` : `by ${signal}`;
  reportEnd([code, null], `${readFileSync(daemon.log, "utf8")}procman: ${config.name} has ended ${how}. Its log: ${consoleOf(config)}\n`);
}

function consoleOf({ stateDir }: Config): string {
  return displayPath(join(stateDir, "logs/console.log"), process.cwd());
}

type Waiting = Pick<DetachOptions, "wait" | "timeout"> & { readonly since: number };

async function reportStart(config: Config, daemon: Daemon, waiting: Waiting): Promise<void> {
  const { since, wait = false, timeout = DEFAULT_WAIT_SECONDS } = waiting;
  const settling = settledStart(config, {
    since,
    untilReady: wait,
    timeoutMs: wait ? timeout * 1_000 : START_TIMEOUT_MS,
    onFailed: (record, client) => printProblem(client, record, since),
  });
  const settled = await withProgress(() => "starting", settling).catch(async (error: unknown) => {
    // It has ended: with --exit-with or --once, or because it was stopped.
    if (error instanceof ProcmanError && error.exitCode === EXIT.noDaemon && holderOf(config.stateDir) === undefined) return undefined;
    throw error;
  });
  if (settled === undefined) return reportEarlyEnd(config, daemon);
  const { records, failed, late } = settled;
  printWarnings(config, readConfigBytes(config.file).toString("utf8"));
  process.stdout.write(
    `${statusTable(records, process.stdout)}\n\n${config.name} is running in the background (pid ${daemon.child.pid}), "procman terminate" stops it. Its log: ${consoleOf(config)}\n`,
  );
  if (failed.length + late.length > 0) process.exitCode = EXIT.refused;
  for (const { id, reason } of late)
    process.stderr.write(`procman: Cannot wait for the start of "${id}": timed out after ${timeout} s; it ${printableLine(reason)}\n`);
}

async function printProblem(client: Client, { id, status, reason }: ProcessRecord, since: number): Promise<void> {
  const lines = await lastLinesOf(client, id, since);
  const [last] = status === "running" || status === "starting" ? await client.incidents(id, 1) : [];
  const why = last === undefined ? reason : `${last.reason}; it was restarted`;
  printAbove([`procman: Cannot start "${id}": it ${printableLine(why)}`, ...lines, ""].join("\n"));
}

function alreadyRunning(pid: number, stateDir: string): ProcmanError {
  return new ProcmanError(
    "already-running",
    `Cannot run: procman is already running with this state folder (pid ${pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
