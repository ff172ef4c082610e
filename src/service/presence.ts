/** The API's address, where the command line finds it: `endpoint.json` in the state folder. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../contract/records.ts";

export function announce(stateDir: string, endpoint: Endpoint): void {
  const path = fileIn(stateDir);
  const whole = `${path}.tmp`;
  try {
    writeFileSync(whole, JSON.stringify(endpoint), { mode: 0o600 });
    renameSync(whole, path);
  } finally {
    // Half a file would only take room.
    rmSync(whole, { force: true });
  }
}

/** Where the last service was reached, if it had no time to withdraw. */
export function formerPort(stateDir: string): number | undefined {
  const port = endpointIn(stateDir)?.port;
  return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? port : undefined;
}

/** What was announced last. It comes from a disk; undefined: nothing that can be read. */
export function endpointIn(stateDir: string): Partial<Endpoint> | undefined {
  try {
    const found = JSON.parse(readFileSync(fileIn(stateDir), "utf8")) as Partial<Endpoint> | null;
    return found ?? undefined;
  } catch {
    return undefined;
  }
}

export function withdraw(stateDir: string): void {
  rmSync(fileIn(stateDir), { force: true });
}

function fileIn(stateDir: string): string {
  return join(stateDir, "endpoint.json");
}
