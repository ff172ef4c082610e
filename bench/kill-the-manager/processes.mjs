// What the managers have in common: their processes (Linux: /proc), where they are installed, the exits in their logs.
import { execFileSync } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export function isAlive(pid) {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** Refuses process groups and PID 1, so that a mistake can't stop the machine. Returns whether the process existed. */
export function kill(pid) {
  return pid > 1 && isAlive(pid) && process.kill(pid, "SIGKILL");
}

/** Whether `check` came true within this time. */
export async function within(ms, check) {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(5)) if (await check()) return true;
  return false;
}

export function findInstalled(command, remedy) {
  try {
    return realpathSync(execFileSync("sh", ["-c", `command -v ${command}`], { encoding: "utf8" }).trim());
  } catch {
    throw new Error(`${command} is not there: ${remedy}`);
  }
}

/** `pattern` finds the id of a process, then its exit code. */
export function exitsIn(log, pattern) {
  return [...log.matchAll(pattern)].map(([, id, code]) => ({ id, code: Number(code) }));
}
