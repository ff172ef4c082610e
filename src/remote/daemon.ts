/** Starts a procman in a session of its own, and tells when its API answers. */

import type { ChildProcess } from "node:child_process";
import { closeSync, constants as fs, openSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import type { Config } from "../config/spec.ts";
import { makeFolder } from "../os/folder.ts";
import { holderOf } from "../os/lock.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { LOOK_MS, reach } from "./endpoint.ts";

/** A procman that has not come up by then goes on, but is waited for no longer. Milliseconds. */
export const COME_UP_MS = 30_000;

export type End = readonly [code: number | null, signal: string | null];

export type Daemon = {
  readonly child: ChildProcess;
  /** Has what procman's own processes print themselves. */
  readonly log: string;
  readonly ended: Promise<End>;
};

/**
 * Starts it by `script` (`dist/procman.cjs`). It must outlive the folder that it was started from: nothing of it depends on that.
 *
 * @throws {ProcmanError} `state-folder`
 */
export function startDaemon({ file, stateDir }: Config, script: string, args: readonly string[]): Daemon {
  // Loaded here: commands that start nothing go without.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const log = logIn(stateDir);
  const stateRoot = process.env.PROCMAN_STATE_DIR;
  const child = spawn(process.execPath, [script, "run", "--detached", "--config", file, ...args], {
    cwd: dirname(file),
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: { ...process.env, ...(stateRoot ? { PROCMAN_STATE_DIR: resolve(stateRoot) } : {}) },
  });
  closeSync(log.fd);
  const ended = new Promise<End>((done, reject) => {
    child.once("exit", (code, signal) => done([code, signal]));
    child.once("error", reject);
  });
  return { child, log: log.path, ended };
}

/**
 * Resolves when its API answers, or with its end.
 *
 * @throws {ProcmanError} `service-down`: neither in time.
 */
export function upOrEnded(config: Config, daemon: Daemon, patienceMs: number): Promise<End | undefined> {
  return Promise.race([daemon.ended, comeUp(config, daemon, patienceMs)]);
}

type Log = { readonly path: string; readonly fd: number };

/** The console goes to a file that the logger rotates; this one is for the rest. */
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

async function comeUp({ stateDir }: Config, { child: { pid }, ended }: Daemon, patienceMs: number): Promise<End | undefined> {
  const isUp = (): boolean => holderOf(stateDir)?.pid === pid;
  const late = monotonicMs() + patienceMs;
  while (!isUp()) {
    if (monotonicMs() > late) throw tooSlow(stateDir, pid, patienceMs);
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
