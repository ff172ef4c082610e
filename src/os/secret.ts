/** The secret of an instance: 32 random bytes in its state folder, with which every token is signed. */
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SECRET_BYTES = 32;

export function secretFile(stateDir: string): string {
  return join(stateDir, "secret");
}

/** Reads the secret; creates it for the first start or token of an instance. */
export function secretIn(stateDir: string): Uint8Array {
  try {
    return readFileSync(secretFile(stateDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return keepSecret(stateDir, newSecret());
}

export function newSecret(): Uint8Array {
  return process.getBuiltinModule("node:crypto").randomBytes(SECRET_BYTES);
}

/** Stores the secret unless there is one already. Returns the one that is stored. */
export function keepSecret(stateDir: string, secret: Uint8Array): Uint8Array {
  const fresh = written(stateDir, secret);
  try {
    linkSync(fresh, secretFile(stateDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    unlinkSync(fresh);
  }
  return readFileSync(secretFile(stateDir));
}

/** Invalidates all tokens. */
export function replaceSecret(stateDir: string): Uint8Array {
  const secret = newSecret();
  renameSync(written(stateDir, secret), secretFile(stateDir));
  return secret;
}

function written(stateDir: string, secret: Uint8Array): string {
  const fresh = `${secretFile(stateDir)}.${process.pid}.tmp`;
  try {
    writeFileSync(fresh, secret, { mode: 0o600 });
  } catch (error) {
    // A partial file would only take up room.
    rmSync(fresh, { force: true });
    throw error;
  }
  return fresh;
}
