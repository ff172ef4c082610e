/** `procman run --detach`: starts procman in a session of its own, and is done when its API answers. */
import { readFileSync } from "node:fs";
import { constants as os } from "node:os";
import { join } from "node:path";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import { shown } from "../config/source.ts";
import type { Config } from "../config/spec.ts";
import { holderOf } from "../os/lock.ts";
import { connectTo } from "../remote/connect.ts";
import { COME_UP_MS, type Daemon, type End, startDaemon, upOrEnded } from "../remote/daemon.ts";
import { packageRoot } from "../remote/package-root.ts";
import { statusTable } from "./status-table.ts";
import { printWarnings } from "./warnings.ts";

export type DetachOptions = {
  readonly config?: string;
  readonly console?: boolean;
  readonly watchConfig?: boolean;
  readonly exitWith?: string;
  readonly profile?: string;
};

/** @throws {ProcmanError} what `load` does; `already-running`, `state-folder`, `service-down` */
export async function runDetached(
  { config: path, console = false, watchConfig = false, exitWith, profile }: DetachOptions,
  patienceMs = COME_UP_MS,
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
  const stopWaiting = waitOnlyUntilTold(daemon);
  const end = await upOrEnded(config, daemon, patienceMs).finally(stopWaiting);
  if (end !== undefined) return tellEnd(end, daemon.log);
  await tellSuccess(config, daemon);
}

/** Ctrl-C, and a terminal that is closed, end the waiting alone. */
function waitOnlyUntilTold({ child }: Daemon): () => void {
  const leave = (signal: NodeJS.Signals): void => {
    process.stderr.write(`procman: no longer waited for; it goes on in the background (pid ${child.pid}), "procman terminate" ends it\n`);
    process.exit(128 + os.signals[signal]);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, leave);
  return () => {
    child.unref();
    for (const signal of signals) process.off(signal, leave);
  };
}

function tellEnd([code, signal]: End, log: string): void {
  process.stderr.write(readFileSync(log, "utf8"));
  if (signal !== null) process.stderr.write(`procman: was ended by ${signal} before it had come up\n`);
  process.exitCode = code ?? EXIT.refused;
}

async function tellSuccess(config: Config, { child: { pid } }: Daemon): Promise<void> {
  const records = await (await connectTo(config)).processes();
  printWarnings(config, readFileSync(config.file, "utf8"));
  const console = shown(join(config.stateDir, "logs/console.log"), process.cwd());
  process.stdout.write(
    `${statusTable(records, process.stdout)}\n\n${config.name} runs in the background (pid ${pid}), "procman terminate" ends it. Its log: ${console}\n`,
  );
}

function alreadyRunning(pid: number, stateDir: string): ProcmanError {
  return new ProcmanError(
    "already-running",
    `Cannot run: procman is already running with this state folder (pid ${pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
