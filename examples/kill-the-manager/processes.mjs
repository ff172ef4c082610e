// What the kernel says of processes (Linux: /proc).
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** Everybody that a manager starts inherits this variable, so all that it leaves behind is found. */
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

/** All living processes that carry the mark, with their command lines. */
export function marked(mark) {
  const wanted = `\0${MARK}=${mark}\0`;
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && `\0${read(`/proc/${name}/environ`) ?? ""}\0`.includes(wanted))
    .map((name) => ({ pid: Number(name), command: (read(`/proc/${name}/cmdline`) ?? "").replaceAll("\0", " ").trim() }))
    .filter(({ pid }) => pid !== process.pid && isAlive(pid));
}

/** Never a group, never PID 1: whatever went wrong before, the machine stays up. @returns whether it was there */
export function kill(pid, signal = "SIGKILL") {
  if (!Number.isSafeInteger(pid) || pid <= 1) return false;
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
    return false;
  }
}

/** What `look` gives once that is neither undefined nor false; undefined when it takes too long. */
export async function within(ms, look, everyMs = 10) {
  for (const end = performance.now() + ms; ; await sleep(everyMs)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) return undefined;
  }
}
