/** What /proc tells of processes that may end at any moment; of one that has ended: nothing. Linux only. */
import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "../../src/core/base/errors.ts";

/** All children, of each of its threads. */
export function childrenOf(pid: number): readonly number[] {
  const tasks = whileThere(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return tasks.flatMap((task) => textOf(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number));
}

/** The first 15 characters of its name. */
export function nameOf(pid: number): string {
  return textOf(`/proc/${pid}/comm`);
}

/** Its arguments, each followed by NUL. */
export function commandLineOf(pid: number): string {
  return textOf(`/proc/${pid}/cmdline`);
}

function textOf(file: string): string {
  return (whileThere(() => readFileSync(file, "latin1")) ?? "").trimEnd();
}

/** What `read` gives; undefined: the process or file has gone. */
export function whileThere<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    // ESRCH: it ended between open and read.
    if (["ENOENT", "ESRCH"].includes(errnoOf(error))) return undefined;
    throw error;
  }
}
