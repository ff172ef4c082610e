/** The keeper's own messages, on standard error. */
import { existsSync } from "node:fs";
import type { ConsoleStyle } from "../ipc/logger-protocol.ts";
import { printError, printErrorLine } from "../os/error-output.ts";

let isJson = false;

/** As the console; `daemon.log`, which a detached procman has instead, is for people. */
export function warnInStyle({ format, file }: ConsoleStyle): void {
  isJson = format === "json" && file === undefined;
}

export function warn(problem: string): void {
  if (!isJson) return printError(problem);
  printErrorLine(JSON.stringify({ time: new Date().toISOString(), severity: "warn", category: "service", text: problem }));
}

export function logAdopted(count: number, isFailover: boolean): void {
  const processes = count === 1 ? "1 process" : `${count} processes`;
  if (isFailover)
    warn(
      `the keeper was killed; this one (pid ${process.pid}) replaces it and has adopted ${processes}, none was restarted. Stop all with "procman terminate"`,
    );
  else if (count > 0) warn(`${processes} that an earlier procman left running ${count === 1 ? "is" : "are"} adopted; none was restarted`);
}

export function unusableStateDir(stateDir: string, { message }: Error): string {
  return `the state folder ${stateDir} can't be used: ${message}${existsSync(stateDir) ? "" : " (set PROCMAN_STATE_DIR to use another place)"}`;
}
