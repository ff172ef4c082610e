/** The secret of an instance: 32 random bytes in its state folder, with which every token is signed. */
import { linkSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { syncFolder, writeBeside, writeWhole } from "./careful-files.ts";
import { checkStateFolder } from "./state-folder.ts";

const SECRET_BYTES = 32;

export function secretFile(stateDir: string): string {
  return join(stateDir, "secret");
}

/** Reads the secret; creates it for the first start or token of an instance. */
export function secretIn(stateDir: string): Uint8Array {
  return storedSecret(stateDir) ?? keepSecret(stateDir, newSecret());
}

/** undefined: there is none. A file of another length isn't one: a power cut may have emptied it. */
export function storedSecret(stateDir: string): Uint8Array | undefined {
  checkStateFolder(stateDir);
  try {
    const secret = readFileSync(secretFile(stateDir));
    return secret.length === SECRET_BYTES ? secret : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function newSecret(): Uint8Array {
  return process.getBuiltinModule("node:crypto").randomBytes(SECRET_BYTES);
}

/** Stores the secret unless there is one already. Returns the one that is stored. */
export function keepSecret(stateDir: string, secret: Uint8Array): Uint8Array {
  const file = secretFile(stateDir);
  const fresh = writeBeside(file, secret, { isDurable: true });
  try {
    if (!linked(fresh, file) && storedSecret(stateDir) === undefined) renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
  syncFolder(stateDir);
  return storedSecret(stateDir) ?? secret;
}

/** False: the file is there already. */
function linked(fresh: string, file: string): boolean {
  try {
    linkSync(fresh, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Invalidates all tokens. */
export function replaceSecret(stateDir: string): Uint8Array {
  const secret = newSecret();
  writeWhole(secretFile(stateDir), secret, { isDurable: true });
  return secret;
}
