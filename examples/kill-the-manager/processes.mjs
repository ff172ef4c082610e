// Data of the kernel on processes (Linux: /proc).
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** All descendants of a manager inherit this variable, so those left behind are found. */
export const MARK = "KILL_THE_MANAGER";

function read(path) {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}

/** @returns {{ pid: number, state: string, parent: number, startTime: string } | undefined} */
export function stat(pid) {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { pid, state: fields[0], parent: Number(fields[1]), startTime: fields[19] };
}

export function isAlive(pid) {
  const found = stat(pid);
  return found !== undefined && found.state !== "Z" && found.state !== "X";
}

/** All living processes with the mark, with their command lines. */
export function marked(mark) {
  const wanted = `\0${MARK}=${mark}\0`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && `\0${read(`/proc/${name}/environ`) ?? ""}\0`.includes(wanted))
    .map((name) => ({ pid: Number(name), command: (read(`/proc/${name}/cmdline`) ?? "").replaceAll("\0", " ").trim() }))
    .filter(({ pid }) => pid !== process.pid && isAlive(pid));
}

/** Refuses process groups and PID 1, so that a mistake can't stop the machine. @returns whether the process existed */
export function kill(pid, signal = "SIGKILL") {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
    return false;
  }
}

/** The first result of `check` that is neither undefined nor false; undefined after `ms`. */
export async function within(ms, check, everyMs = 10) {
  for (const end = performance.now() + ms; ; await sleep(everyMs)) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) return undefined;
  }
}
