/** Why a run could not be started. */
import { statSync } from "node:fs";
import type { Failed, SpawnRequest } from "../contract/keeper-protocol.ts";

/** Which step has failed, as far as the error tells. */
export function stepOf({ cwd }: SpawnRequest, { code, syscall }: NodeJS.ErrnoException): Failed["step"] {
  if (!isFolder(cwd)) return "cwd";
  if (isScarcity(code)) return "fork";
  return syscall === "open" ? "run-folder" : "program";
}

/** The machine lacks something now that it may have later. */
export function isScarcity(code: string | undefined): boolean {
  return ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(code ?? "");
}

export function errnoOf(error: NodeJS.ErrnoException): string {
  return typeof error.code === "string" ? error.code : /No space/.test(error.message) ? "ENOSPC" : "EIO";
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
