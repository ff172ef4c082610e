/** The API's address, where the command line finds it: `endpoint.json` in the state folder. */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../contract/records.ts";

export function announce(stateDir: string, endpoint: Endpoint): void {
  const path = endpointIn(stateDir);
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
  try {
    const { port } = JSON.parse(readFileSync(endpointIn(stateDir), "utf8")) as Partial<Endpoint>;
    return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? port : undefined;
  } catch {
    return undefined;
  }
}

export function withdraw(stateDir: string): void {
  rmSync(endpointIn(stateDir), { force: true });
}

function endpointIn(stateDir: string): string {
  return join(stateDir, "endpoint.json");
}
