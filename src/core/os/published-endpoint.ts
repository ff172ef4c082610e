/** The address of the API that a service publishes: `endpoint.json` in the state folder. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../contract/records.ts";
import { writeWhole } from "./careful-files.ts";

export function publishEndpoint(stateDir: string, endpoint: Endpoint): void {
  writeWhole(fileIn(stateDir), JSON.stringify(endpoint));
}

/** The port of the last service, if it was killed. */
export function lastPort(stateDir: string): number | undefined {
  const port = lastEndpoint(stateDir)?.port;
  return Number.isInteger(port) && Number(port) > 0 && Number(port) < 65_536 ? port : undefined;
}

/** The last published endpoint; undefined if it can't be read. */
export function lastEndpoint(stateDir: string): Partial<Endpoint> | undefined {
  try {
    const found = JSON.parse(readFileSync(fileIn(stateDir), "utf8")) as Partial<Endpoint> | null;
    return found ?? undefined;
  } catch {
    return undefined;
  }
}

export function removeEndpoint(stateDir: string): void {
  rmSync(fileIn(stateDir), { force: true });
}

function fileIn(stateDir: string): string {
  return join(stateDir, "endpoint.json");
}
