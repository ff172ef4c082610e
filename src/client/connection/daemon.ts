/** Starts a detached procman and waits for its API. */
import type { ChildProcess } from "node:child_process";
import { closeSync, constants as fs, openSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Config } from "../../core/config/spec.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { isFull } from "../../core/os/files.ts";
import { holderOf } from "../../core/os/lock.ts";
import { NO_DEBUGGER } from "../../core/os/no-debugger.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { makeStateFolder } from "../../core/os/state-folder.ts";
import { checkPort, POLL_MS, resolveEndpoint } from "./endpoint-file.ts";

/** Time to wait for the start; a slower procman continues starting in the background. Milliseconds. */
export const START_TIMEOUT_MS = 30_000;

export type DaemonEnd = readonly [code: number | null, signal: string | null];

export type Daemon = {
  readonly child: ChildProcess;
  /** File with everything that procman's own processes print. */
  readonly log: string;
  readonly ended: Promise<DaemonEnd>;
};

/**
 * Starts it with `script` (`dist/procman.cjs`). It runs in the folder of its configuration file and doesn't depend on
 * the current one.
 *
 * @throws {ProcmanError} `state-folder`
 */
export function startDaemon({ file, stateDir }: Config, script: string, args: readonly string[]): Daemon {
  // Loaded here, since most commands start nothing.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const log = logIn(stateDir);
  const stateRoot = process.env.PROCMAN_STATE_DIR;
  const child = spawn(process.execPath, [NO_DEBUGGER, script, "run", "--detached", "--config", file, ...args], {
    cwd: dirname(file),
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: { ...process.env, ...(stateRoot ? { PROCMAN_STATE_DIR: resolve(startFolder(stateRoot), stateRoot) } : {}) },
  });
  closeSync(log.fd);
  const ended = new Promise<DaemonEnd>((done, reject) => {
    child.once("exit", (code, signal) => done([code, signal]));
    child.once("error", reject);
  });
  return { child, log: log.path, ended };
}

/**
 * Resolves when its API answers, or with the end of the daemon.
 *
 * @throws {ProcmanError} `service-down` if neither happens in time.
 */
export function waitForStart(config: Config, daemon: Daemon, timeoutMs: number): Promise<DaemonEnd | undefined> {
  return Promise.race([daemon.ended, comeUp(config, daemon, timeoutMs)]);
}

/** What it has printed. If a full disk has taken nothing of it, a message that says so. */
export function outputOf({ log }: Daemon, [code, signal]: DaemonEnd): string {
  const text = readFileSync(log, "utf8");
  if (text !== "" || code === 0 || signal !== null) return text;
  const folder = dirname(log);
  if (isFull(folder)) return `procman: ${unusable(folder, "no space left on device")}\n`;
  return `procman: it ended with code ${code} before it had come up; "procman run" without --detach shows why\n`;
}

type DaemonLog = { readonly path: string; readonly fd: number };

/** The file for other output; the console goes to a file that the logger rotates. */
function logIn(stateDir: string): DaemonLog {
  const path = join(stateDir, "daemon.log");
  try {
    makeStateFolder(stateDir);
    return { path, fd: openSync(path, fs.O_WRONLY | fs.O_CREAT | fs.O_TRUNC | fs.O_APPEND, 0o600) };
  } catch (cause) {
    if (cause instanceof ProcmanError) throw cause;
    throw new ProcmanError("state-folder", unusable(stateDir, (cause as Error).message), { cause });
  }
}

function unusable(stateDir: string, why: string): string {
  return `Cannot run: the state folder ${stateDir} can't be used: ${why}; set PROCMAN_STATE_DIR to use another place`;
}

async function comeUp(
  { stateDir }: Config,
  { child: { pid }, ended }: Daemon,
  timeoutMs: number,
): Promise<DaemonEnd | undefined> {
  const isUp = (): boolean => holderOf(stateDir)?.pid === pid;
  const deadline = monotonicMs() + timeoutMs;
  while (!isUp()) {
    if (monotonicMs() > deadline) throw tooSlow(stateDir, pid, timeoutMs);
    // An unreferenced timer: if the daemon has exited, there is nothing to wait for.
    await sleep(POLL_MS, undefined, { ref: false });
  }
  try {
    checkPort(await resolveEndpoint(stateDir, deadline));
    return undefined;
  } catch (error) {
    if (isUp()) throw error;
    return ended;
  }
}

function tooSlow(stateDir: string, pid: number | undefined, timeoutMs: number): ProcmanError {
  return new ProcmanError(
    "service-down",
    `Cannot reach procman: it was started (pid ${pid}), but has not come up within ${timeoutMs / 1_000} s; ${join(stateDir, "daemon.log")} may show why, "kill ${pid}" ends it`,
  );
}
