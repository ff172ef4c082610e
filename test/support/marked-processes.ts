/** Processes that carry a mark in their environment, as all descendants of a load do: who lives, and the kill of one. Linux only. */
import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "../../src/core/base/errors.ts";
import { commandLineOf } from "./proc-files.ts";
import { isAlive } from "./procman-process.ts";

/** All descendants inherit this variable, so those left behind are found. */
export const MARK = "TEST_LOAD";

export type MarkedProcess = { readonly pid: number; readonly command: string };

/** All living processes with the mark, with their command lines. */
export function marked(mark: string): readonly MarkedProcess[] {
  const wanted = `\0${MARK}=${mark}\0`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && `\0${environmentOf(name)}\0`.includes(wanted))
    .map((name) => ({ pid: Number(name), command: commandLineOf(Number(name)).replaceAll("\0", " ").trim() }))
    .filter(({ pid }) => pid !== process.pid && isAlive(pid));
}

function environmentOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/environ`, "latin1");
  } catch {
    // It has ended, or belongs to another user.
    return "";
  }
}

/** Refuses process groups and PID 1, so that a mistake can't stop the machine. Returns whether the process existed. */
export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (errnoOf(error) !== "ESRCH") throw error;
    return false;
  }
}
