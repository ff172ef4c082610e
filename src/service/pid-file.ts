/** `pidFile`: holds the pid while the process runs, and is gone after. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolder } from "../os/folder.ts";
import { type Instance, initial } from "../supervisor/states.ts";

/** @returns what went wrong, for the log: a pid file that can't be written stops no process. */
export function keepPidFile(path: string, from: Instance, to: Instance): string | undefined {
  const [before, now] = [pidOf(from), pidOf(to)];
  if (before === now) return undefined;
  try {
    if (now === undefined) rmSync(path, { force: true });
    else write(path, now);
    return undefined;
  } catch (error) {
    return `Cannot write its pid file: ${(error as Error).message}`;
  }
}

/** Who was killed while a process came up has written no pid file. */
export function restorePidFile(path: string | undefined, states: readonly Instance[]): string | undefined {
  const state = states.find(({ status }) => status === "running");
  return path === undefined || state === undefined ? undefined : keepPidFile(path, initial, state);
}

export function removePidFile(path: string): void {
  rmSync(path, { force: true });
}

/** Readers never see half of it. */
function write(path: string, pid: number): void {
  makeFolder(dirname(path), 0o755);
  writeFileSync(`${path}.tmp`, `${pid}\n`);
  renameSync(`${path}.tmp`, path);
}

function pidOf(state: Instance): number | undefined {
  if (state.status === "stopping" && "ending" in state) return undefined;
  return "pid" in state ? state.pid : undefined;
}
