/** How procman's own processes are called in the process table: `procman[shop]: keeper`. */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";

export type PartName = "keeper" | "service" | "logger" | "balancer";

const CUT = "…";

/**
 * The kernel's name (`ps -e`, /proc/PID/comm, 15 bytes) is always `procman: PART`: all versions tell a part by it, and
 * it has no room for more.
 *
 * @param stateDir once it is known; its last folder is the name of the procman
 */
export function setTitle(part: PartName, stateDir?: string): void {
  const plain = `procman: ${part}`;
  process.title = plain;
  if (stateDir === undefined) return;
  setLongTitle(basename(stateDir), part);
  try {
    if (process.platform === "linux") writeFileSync("/proc/self/comm", plain);
  } catch {
    process.title = plain;
  }
}

/** A title has as much room as the command line had: of a long name, a part is left out. */
function setLongTitle(name: string, part: PartName): void {
  const titleOf = (shown: string): string => `procman[${shown}]: ${part}`;
  process.title = titleOf(name);
  const missing = Buffer.byteLength(titleOf(name)) - Buffer.byteLength(process.title);
  if (missing > 0)
    process.title = titleOf(`${name.slice(0, Math.max(0, name.length - missing - Buffer.byteLength(CUT)))}${CUT}`);
}

/** Whether the kernel's name of a process is that of a part of procman, also while its title is being set. */
export function isPartName(comm: string): boolean {
  return comm.startsWith("procman: ") || comm.startsWith("procman[");
}

/** The component and the name of the instance in a process title; undefined if it isn't procman's. Before its state folder is known, a title has no name. */
export function partOf(title: string): { readonly part: string; readonly name?: string } | undefined {
  const [, name, part] = /^procman(?:\[([^\]]*)\])?: (\w+)/.exec(title) ?? [];
  return part === undefined ? undefined : { part, ...(name !== undefined && { name }) };
}
