/** `procman run --detach`: starts procman in a session of its own, and is done when its API answers. */
import type { ChildProcess } from "node:child_process";
import { closeSync, constants as fs, openSync, readFileSync } from "node:fs";
import { constants as os } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import { shown } from "../config/source.ts";
import type { Config } from "../config/spec.ts";
import { makeFolder } from "../os/folder.ts";
import { holderOf } from "../os/lock.ts";
import { connectTo } from "../remote/connect.ts";
import { LOOK_MS, reach } from "../remote/endpoint.ts";
import { packageRoot } from "./package-root.ts";
import { statusTable } from "./status-table.ts";
import { printWarnings } from "./warnings.ts";

/** A procman that has not come up by then goes on, but is waited for no longer. Milliseconds. */
const PATIENCE_MS = 30_000;

export type DetachOptions = { readonly config?: string; readonly console?: boolean; readonly exitWith?: string };

type End = readonly [code: number | null, signal: string | null];

/** @throws {ProcmanError} what `load` does; `already-running`, `state-folder`, `service-down` */
export async function runDetached({ config: path, console = false, exitWith }: DetachOptions, patienceMs = PATIENCE_MS): Promise<void> {
  const config = load(path, process.cwd());
  const first = holderOf(config.stateDir);
  if (first !== undefined) throw alreadyRunning(first.pid, config.stateDir);
  const log = logIn(config.stateDir);
  const daemon = await start(config, log, [...(console ? ["--console"] : []), ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`])]);
  const stopWaiting = waitOnlyUntilTold(daemon);
  const ended = new Promise<End>((resolve, reject) => {
    daemon.once("exit", (code, signal) => resolve([code, signal]));
    daemon.once("error", reject);
  });
  const end = await Promise.race([ended, comeUp(config, { pid: daemon.pid, ended }, patienceMs)]).finally(stopWaiting);
  if (end !== undefined) return tellEnd(end, log.path);
  await tellSuccess(config, daemon);
}

type Log = { readonly path: string; readonly fd: number };

/** For what procman's own processes print themselves: the console goes to a file that the logger rotates. */
function logIn(stateDir: string): Log {
  const path = join(stateDir, "daemon.log");
  try {
    makeFolder(stateDir, 0o700);
    return { path, fd: openSync(path, fs.O_WRONLY | fs.O_CREAT | fs.O_TRUNC | fs.O_APPEND, 0o600) };
  } catch (cause) {
    throw new ProcmanError(
      "state-folder",
      `Cannot run: the state folder ${stateDir} can't be used: ${(cause as Error).message}; PROCMAN_STATE_DIR names another place for it`,
      { cause },
    );
  }
}

/** It must outlive the folder that it was started from: nothing of it depends on that. */
async function start({ file }: Config, log: Log, args: readonly string[]): Promise<ChildProcess> {
  const { spawn } = await import("node:child_process");
  const stateRoot = process.env.PROCMAN_STATE_DIR;
  const daemon = spawn(process.execPath, [join(packageRoot(), "dist/procman.cjs"), "run", "--detached", "--config", file, ...args], {
    cwd: dirname(file),
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: { ...process.env, ...(stateRoot ? { PROCMAN_STATE_DIR: resolve(stateRoot) } : {}) },
  });
  closeSync(log.fd);
  return daemon;
}

/** Ctrl-C, and a terminal that is closed, end the waiting alone. */
function waitOnlyUntilTold(daemon: ChildProcess): () => void {
  const { pid } = daemon;
  const leave = (signal: NodeJS.Signals): void => {
    process.stderr.write(`procman: no longer waited for; it goes on in the background (pid ${pid}), "procman terminate" ends it\n`);
    process.exit(128 + os.signals[signal]);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, leave);
  return () => {
    daemon.unref();
    for (const signal of signals) process.off(signal, leave);
  };
}

type Daemon = { readonly pid: number | undefined; readonly ended: Promise<End> };

/** Resolves when the API answers, or with the daemon's end; rejects when there is neither. */
async function comeUp({ stateDir }: Config, { pid, ended }: Daemon, patienceMs: number): Promise<End | undefined> {
  const isUp = (): boolean => holderOf(stateDir)?.pid === pid;
  const late = performance.now() + patienceMs;
  while (!isUp()) {
    if (performance.now() > late) throw tooSlow(stateDir, pid, patienceMs);
    // Only the daemon keeps us waiting: when it has ended, there is nothing more to wait for.
    await sleep(LOOK_MS, undefined, { ref: false });
  }
  try {
    await reach(stateDir, late);
    return undefined;
  } catch (error) {
    if (isUp()) throw error;
    return ended;
  }
}

function tooSlow(stateDir: string, pid: number | undefined, patienceMs: number): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it was started (pid ${pid}), but has not come up within ${patienceMs / 1_000} s; ${join(stateDir, "daemon.log")} may tell why, "kill ${pid}" ends it`,
  );
}

function tellEnd([code, signal]: End, log: string): void {
  process.stderr.write(readFileSync(log, "utf8"));
  if (signal !== null) process.stderr.write(`procman: was ended by ${signal} before it had come up\n`);
  process.exitCode = code ?? EXIT.refused;
}

async function tellSuccess(config: Config, { pid }: ChildProcess): Promise<void> {
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
