/** The API's address and secret, where the command line finds them: `endpoint.json` and `secret` in the state folder. */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Endpoint } from "../contract/records.ts";

const SECRET_BYTES = 32;

/** Made at the first start of an instance; every token is signed with it. */
export function secretIn(stateDir: string): Uint8Array {
  const path = join(stateDir, "secret");
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  keepSecret(stateDir, randomBytes(SECRET_BYTES));
  return readFileSync(path);
}

/** One that is there already stays. */
export function keepSecret(stateDir: string, secret: Uint8Array): void {
  const path = join(stateDir, "secret");
  const fresh = `${path}.${process.pid}.tmp`;
  writeFileSync(fresh, secret, { mode: 0o600 });
  try {
    linkSync(fresh, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(fresh, { force: true });
  }
}

export function announce(stateDir: string, endpoint: Endpoint): void {
  const path = endpointIn(stateDir);
  writeFileSync(`${path}.tmp`, JSON.stringify(endpoint), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

export function withdraw(stateDir: string): void {
  rmSync(endpointIn(stateDir), { force: true });
}

function endpointIn(stateDir: string): string {
  return join(stateDir, "endpoint.json");
}
