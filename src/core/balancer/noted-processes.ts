/**
 * Processes of the balancer, in two files beside its socket. `workers`: its further processes; a stopped one (SIGSTOP)
 * would keep the ports when the first is killed. `formers`: earlier balancers, which still have connections and must
 * not outlive the last one.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { integer, list, object, string } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { printError } from "../os/error-output.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive, processStat } from "../os/process-stat.ts";

const PROCESSES = list(object({ pid: integer({ minimum: 2 }), startTime: string({ minLength: 1 }) }));

/** Formers give their connections 5 s; the keeper kills a balancer that takes 7 s to end. Milliseconds. */
const FORMERS_MS = 6_500;
const POLL_MS = 20;

type NotedProcess = { readonly pid: number; readonly startTime: string };

/** Replaces the list. */
export function recordWorkers(socket: string, pids: readonly number[]): void {
  write(`${socket}.workers`, pids.flatMap(noted));
}

/** Ends the processes of a balancer that was killed; without a signal they end themselves, unless they are stopped. */
export function endFormerWorkers(socket: string): void {
  for (const { pid } of read(`${socket}.workers`)) signalIfThere(pid, "SIGKILL");
}

/** Removes the list: the processes have ended. */
export function forgetWorkers(socket: string): void {
  rmSync(`${socket}.workers`, { force: true });
}

/** `pid`: of a balancer that is about to have a successor. */
export function recordFormer(socket: string, pid: number): void {
  write(`${socket}.formers`, [...read(`${socket}.formers`), ...noted(pid)]);
}

/** Resolves when the earlier balancers have ended, which they do because the socket is gone; those that don't are killed. */
export async function endFormers(socket: string): Promise<void> {
  const file = `${socket}.formers`;
  for (const end = performance.now() + FORMERS_MS; ; await sleep(POLL_MS)) {
    const formers = read(file).filter(({ pid }) => pid !== process.pid);
    if (formers.length === 0) return rmSync(file, { force: true });
    if (performance.now() > end) for (const { pid } of formers) signalIfThere(pid, "SIGKILL");
  }
}

function noted(pid: number): readonly NotedProcess[] {
  const { startTime } = processStat(pid) ?? {};
  return startTime === undefined ? [] : [{ pid, startTime }];
}

/** A list that can't be written costs nothing but its remedy. */
function write(file: string, processes: readonly NotedProcess[]): void {
  const unnamed = `${file}.${process.pid}`;
  try {
    writeFileSync(unnamed, JSON.stringify(processes), { mode: 0o600, flag: "wx" });
    renameSync(unnamed, file);
  } catch (error) {
    printError(`the load balancer's processes can't be noted: ${(error as Error).message}`);
  }
}

/** The noted processes that live. */
function read(file: string): readonly NotedProcess[] {
  try {
    const found: unknown = JSON.parse(readFileSync(file, "utf8"));
    return matches(found, PROCESSES) ? found.filter(({ pid, startTime }) => isAlive(pid, startTime)) : [];
  } catch {
    // The first balancer of this folder finds none.
    return [];
  }
}
