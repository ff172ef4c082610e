/** One keeper a state folder. */
import { ProcmanError } from "../base/errors.ts";
import { type Lock, takeLock } from "../os/lock.ts";

/** @throws {ProcmanError} `already-running` */
export function lockOf(stateDir: string): Lock {
  const lock = takeLock(stateDir);
  if ("release" in lock) return lock;
  throw new ProcmanError(
    "already-running",
    `procman is already running with this state folder (pid ${lock.pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
