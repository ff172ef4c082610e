/** Starts a procman for a program, in the background. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ProcmanError } from "../base/errors.ts";
import type { Config } from "../config/spec.ts";
import { holderOf } from "../os/lock.ts";
import { processStat } from "../os/process-stat.ts";
import { COME_UP_MS, startDaemon, upOrEnded } from "../remote/daemon.ts";
import { packageRoot } from "../remote/package-root.ts";

/** Resolves when it answers. `detached`: it doesn't end with this program. @throws {ProcmanError} `start-failed` */
export async function start(config: Config, detached: boolean): Promise<void> {
  const { profile } = config;
  const args = [...(detached ? [] : [`--with-parent=${ownMark()}`]), ...(profile === undefined ? [] : [`--profile=${profile}`])];
  const script = join(packageRoot(fileURLToPath(import.meta.url)), "dist/procman.cjs");
  const daemon = startDaemon(config, script, args);
  const end = await upOrEnded(config, daemon, COME_UP_MS).finally(() => daemon.child.unref());
  // Another program may have been quicker by a moment.
  if (end === undefined || holderOf(config.stateDir) !== undefined) return;
  const [code, signal] = end;
  const said = readFileSync(daemon.log, "utf8").trim();
  throw new ProcmanError("start-failed", `Cannot run procman: it ended ${signal === null ? `with code ${code}` : `by ${signal}`}: ${said}`);
}

/** This program, and no later one of its pid. */
function ownMark(): string {
  return `${process.pid}-${processStat(process.pid)?.startTime ?? ""}`;
}
