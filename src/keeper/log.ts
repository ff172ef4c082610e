/** The keeper's own messages, on standard error. */
import { existsSync } from "node:fs";
import type { ConsoleStyle } from "../ipc/logger-protocol.ts";
import { printWarning } from "../os/error-output.ts";

let style: ConsoleStyle | undefined;

export function warnInStyle(known: ConsoleStyle): void {
  style = known;
}

export function warn(problem: string): void {
  printWarning(problem, style ?? {});
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
