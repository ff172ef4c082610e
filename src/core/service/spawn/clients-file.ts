/** What an instance that accepts from a shared socket itself says about its clients: `node-preload/client-count.ts` writes it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isNotFound } from "../../base/errors.ts";

/** `first`, `last`: when the first one came, and when one came or went last; monotonic milliseconds. */
type CountedClients = { readonly open: number; readonly first?: number; readonly last: number };

/** File behind the descriptor by which a run counts its clients. It outlives keeper and service. */
export function clientsFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `clients-${slot}`);
}

/** "none": it has counted nothing yet. undefined: its run was started without such a file. */
export function readClients(file: string): CountedClients | "none" | undefined {
  try {
    const [, open, first, last] = /^(\d+) (\d+) (\d+) *\n/.exec(readFileSync(file, "latin1")) ?? [];
    if (last === undefined) return "none";
    return { open: Number(open), last: Number(last), ...(Number(first) > 0 && { first: Number(first) }) };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
