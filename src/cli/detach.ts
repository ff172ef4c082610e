/** `procman run --detach`: starts procman in the background and returns when its API answers. */
import { readFileSync } from "node:fs";
import { constants as os } from "node:os";
import { join } from "node:path";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { displayPath } from "../config/config-file.ts";
import { load } from "../config/load.ts";
import type { Config } from "../config/spec.ts";
import { connectTo } from "../connection/connect.ts";
import { type Daemon, type DaemonEnd, START_TIMEOUT_MS, startDaemon, waitForStart } from "../connection/daemon.ts";
import { packageRoot } from "../connection/package-root.ts";
import { holderOf } from "../os/lock.ts";
import { printWarnings } from "./edit-file.ts";
import { statusTable } from "./status-table.ts";

export type DetachOptions = {
  readonly config?: string;
  readonly console?: boolean;
  readonly watchConfig?: boolean;
  readonly exitWith?: string;
  readonly profile?: string;
};

/** @throws {ProcmanError} those of `load`; `already-running`, `state-folder`, `service-down` */
export async function runDetached(
  { config: path, console = false, watchConfig = false, exitWith, profile }: DetachOptions,
  timeoutMs = START_TIMEOUT_MS,
): Promise<void> {
  const config = load(path, process.cwd(), profile);
  const first = holderOf(config.stateDir);
  if (first !== undefined) throw alreadyRunning(first.pid, config.stateDir);
  const args = [
    ...(console ? ["--console"] : []),
    ...(watchConfig ? ["--watch-config"] : []),
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
  ];
  const daemon = startDaemon(config, join(packageRoot(), "dist/procman.cjs"), args);
  const stopWaiting = stopWaitingOnSignal(daemon);
  const end = await waitForStart(config, daemon, timeoutMs).finally(stopWaiting);
  if (end !== undefined) return reportEnd(end, daemon.log);
  await reportSuccess(config, daemon);
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

function reportEnd([code, signal]: DaemonEnd, log: string): void {
  process.stderr.write(readFileSync(log, "utf8"));
  if (signal !== null) process.stderr.write(`procman: was ended by ${signal} before it had come up\n`);
  process.exitCode = code ?? EXIT.refused;
}

async function reportSuccess(config: Config, { child: { pid } }: Daemon): Promise<void> {
  const records = await (await connectTo(config)).processes();
  printWarnings(config, readFileSync(config.file, "utf8"));
  const console = displayPath(join(config.stateDir, "logs/console.log"), process.cwd());
  process.stdout.write(
    `${statusTable(records, process.stdout)}\n\n${config.name} is running in the background (pid ${pid}), "procman terminate" stops it. Its log: ${console}\n`,
  );
}

function alreadyRunning(pid: number, stateDir: string): ProcmanError {
  return new ProcmanError(
    "already-running",
    `Cannot run: procman is already running with this state folder (pid ${pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
