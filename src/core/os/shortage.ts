/** Errors that say nothing about what was looked up: file descriptors or memory have run out. */
import { closeSync, openSync } from "node:fs";

const CODES = new Set<unknown>(["EMFILE", "ENFILE", "ENOMEM", "EAGAIN"]);

/** `error`: or just its code. */
export function isShortage(error: unknown): boolean {
  return CODES.has((error as NodeJS.ErrnoException).code);
}

/** undefined if it can't be looked up now. */
export function unlessShort<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (isShortage(error)) return undefined;
    throw error;
  }
}

/** A descriptor kept for looks at the process table when all others are in use. */
let spare: number | undefined;

/** Reserves a descriptor, so that the process table can be read when all others are in use. Call it at the start of a process. */
export function reserveDescriptor(): void {
  spare ??= unlessShort(() => openSync("/dev/null", "r"));
}

/** Calls `look`, which opens at most one file at a time, with the reserved descriptor if no other is free. */
export function withReserve<T>(look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (!isShortage(error) || spare === undefined) throw error;
    closeSync(spare);
    spare = undefined;
    try {
      return look();
    } finally {
      reserveDescriptor();
    }
  }
}
