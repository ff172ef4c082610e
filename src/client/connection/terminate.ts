/** Waits for the end of a whole procman. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../core/base/errors.ts";
import { type Holder, holderOf, isAbandoned } from "../../core/os/lock.ts";
import { isAlive } from "../../core/os/process-stat.ts";
import { keeperOf, POLL_MS } from "./endpoint-file.ts";

/**
 * Asks the keeper to end, and resolves once it has ended in order. A keeper that is killed meanwhile may not have
 * received the request, so its replacement is asked as well; a repeated request does no harm.
 *
 * @throws {ProcmanError} `no-daemon` if none is running, or a killed keeper was not replaced; and any error of `ask`.
 */
export async function waitForEnd(stateDir: string, ask: (keeper: Holder) => Promise<void>): Promise<void> {
  const first = await keeperOf(stateDir);
  await ask(first).catch((error: unknown) => {
    if (!(error instanceof ProcmanError) || error.code !== "service-down") throw error;
    // Another caller may have asked, too: the service ends before it has answered all.
    return ask(first).catch(unlessOver);
  });
  for (let next = await successorOf(stateDir, first); next !== undefined; next = await successorOf(stateDir, next))
    await ask(next).catch(unlessOver);
}

/** The keeper that replaced the previous one. undefined if there is none, or if it was started anew (as by systemd): its lock has number 1. */
async function successorOf(stateDir: string, before: Holder): Promise<Holder | undefined> {
  while (isAlive(before.pid, before.startTime)) await sleep(POLL_MS);
  const next = isAbandoned(stateDir) ? await keeperOf(stateDir) : holderOf(stateDir);
  return next !== undefined && next.number > before.number ? next : undefined;
}

/** Ignores that it has ended already. */
function unlessOver(error: unknown): void {
  if (!(error instanceof ProcmanError) || error.code !== "no-daemon") throw error;
}
