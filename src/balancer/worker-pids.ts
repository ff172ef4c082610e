/** The further processes of a balancer, in a file beside its socket: a stopped one (SIGSTOP) would keep the ports when the first is killed. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { integer, list, object, string } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { printError } from "../os/error-output.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive, processStat } from "../os/process-stat.ts";

const WORKERS = list(object({ pid: integer({ minimum: 2 }), startTime: string({ minLength: 1 }) }));

/** Replaces the list. A list that can't be written costs nothing but this remedy. */
export function recordWorkers(socket: string, pids: readonly number[]): void {
  const workers = pids.flatMap((pid) => {
    const { startTime } = processStat(pid) ?? {};
    return startTime === undefined ? [] : [{ pid, startTime }];
  });
  const unnamed = `${fileOf(socket)}.${process.pid}`;
  try {
    writeFileSync(unnamed, JSON.stringify(workers), { mode: 0o600, flag: "wx" });
    renameSync(unnamed, fileOf(socket));
  } catch (error) {
    printError(`the load balancer's processes can't be noted: ${(error as Error).message}`);
  }
}

/** Ends the processes of a balancer that was killed; without a signal they end themselves, unless they are stopped. */
export function endFormerWorkers(socket: string): void {
  for (const { pid, startTime } of readWorkers(socket)) if (isAlive(pid, startTime)) signalIfThere(pid, "SIGKILL");
}

/** Removes the list: the processes have ended. */
export function forgetWorkers(socket: string): void {
  rmSync(fileOf(socket), { force: true });
}

function readWorkers(socket: string): readonly { readonly pid: number; readonly startTime: string }[] {
  try {
    const found: unknown = JSON.parse(readFileSync(fileOf(socket), "utf8"));
    return matches(found, WORKERS) ? found : [];
  } catch {
    // The first balancer of this folder finds none.
    return [];
  }
}

function fileOf(socket: string): string {
  return `${socket}.workers`;
}
