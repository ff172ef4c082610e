/** The secret of an instance: 32 random bytes in its state folder, that every token is signed with. */
import { linkSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtin } from "./builtin.ts";

const SECRET_BYTES = 32;

export function secretFile(stateDir: string): string {
  return join(stateDir, "secret");
}

/** Made at the first start of an instance, or with its first token. */
export function secretIn(stateDir: string): Uint8Array {
  try {
    return readFileSync(secretFile(stateDir));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return keepSecret(stateDir, newSecret());
}

export function newSecret(): Uint8Array {
  return builtin("node:crypto").randomBytes(SECRET_BYTES);
}

/** One that is there already stays. Returns what holds. */
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

/** All tokens of before are void. */
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
    // Half a file would only take room.
    rmSync(fresh, { force: true });
    throw error;
  }
  return fresh;
}
