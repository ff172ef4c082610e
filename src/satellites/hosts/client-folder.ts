/** Folders of a client for its sockets and archives, in the folder for temporary files. */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isNotFound } from "../../core/base/errors.ts";
import { hasEnded } from "../../core/os/process-stat.ts";

const NAME = /^procman-(?:commit|hosts|logs|rollout)-(\d+)-/;

/** Only this user may enter it. What clients that were killed have left is removed. */
export function clientFolder(use: "commit" | "hosts" | "logs" | "rollout"): string {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(NAME.exec(name)?.[1]);
    if (pid > 0 && hasEnded(pid)) removeOwn(join(tmpdir(), name));
  }
  return mkdtempSync(join(tmpdir(), `procman-${use}-${process.pid}-`));
}

function removeOwn(folder: string): void {
  try {
    if (lstatSync(folder).uid === process.getuid?.()) rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    // Another client has removed it.
    if (!isNotFound(error)) throw error;
  }
}
