/** Which processors a process may run on: sched_setaffinity(2), for which Node has no call. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Those of a process; none where the kernel doesn't tell. */
export function processorsOf(pid: number): readonly number[] {
  let status: string;
  try {
    status = readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    return [];
  }
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "";
  return list.split(",").flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

/** Its main thread runs on these alone, and so do the processes that it starts. Rejects where there is no taskset(1), or no such process. */
export async function bind(pid: number, processors: readonly number[]): Promise<void> {
  await run("taskset", ["-c", "-p", processors.join(","), String(pid)]);
}

/** All of its threads run on these, whatever was before. Rejects where there is no taskset(1). */
export async function unbind(pid: number, processors: readonly number[]): Promise<void> {
  await run("taskset", ["-a", "-c", "-p", processors.join(","), String(pid)]);
}
