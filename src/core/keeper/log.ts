/** The keeper's own messages, on standard error. */
import { existsSync } from "node:fs";
import type { ConsoleStyle } from "../ipc/logger-protocol.ts";
import { printError, printInStyle, styleSoFar } from "../os/error-output.ts";

/** Before the configuration is read, nobody knows whether a line must be JSON. */
const early: string[] = [];

export function warnInStyle(known: ConsoleStyle): void {
  printInStyle(known);
  printEarly();
}

export function warn(problem: string): void {
  if (styleSoFar() !== undefined) return printError(problem, "warn");
  if (early.length === 0) process.once("exit", printEarly);
  early.push(problem);
}

function printEarly(): void {
  for (const problem of early.splice(0)) printError(problem, "warn");
}

/** What a keeper says that goes on from the work of another one; undefined: it begins. */
export function adoptionText(count: number, isFailover: boolean): string | undefined {
  const processes = count === 1 ? "1 process" : `${count} processes`;
  if (isFailover)
    return `the keeper was killed; this one (pid ${process.pid}) replaces it and has adopted ${processes}, none was restarted. Stop all with "procman terminate"`;
  return count === 0
    ? undefined
    : `${processes} that an earlier procman left running ${count === 1 ? "is" : "are"} adopted; none was restarted`;
}

export function unusableStateDir(stateDir: string, { message }: Error): string {
  return `the state folder ${stateDir} can't be used: ${message}${existsSync(stateDir) ? "" : " (set PROCMAN_STATE_DIR to use another place)"}`;
}
