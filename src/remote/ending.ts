/** The end of a whole procman. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import { type Holder, holderOf, isAbandoned } from "../os/lock.ts";
import { isAlive } from "../os/process-stat.ts";
import { keeperOf, LOOK_MS } from "./endpoint.ts";

/**
 * Resolves once it has ended in order. A keeper that is killed meanwhile may never have heard of it: so whoever comes in its
 * place is asked as well, which does no harm to one that knows.
 *
 * @throws {ProcmanError} `no-daemon`: none runs, or nobody came in place of a keeper that was killed; and what `ask` throws.
 */
export async function ended(stateDir: string, ask: (keeper: Holder) => Promise<void>): Promise<void> {
  const first = await keeperOf(stateDir);
  await ask(first);
  for (let next = await successorOf(stateDir, first); next !== undefined; next = await successorOf(stateDir, next))
    await ask(next).catch(unlessOver);
}

/** Who holds the folder after that one, which ends; undefined: nobody, or one that was started anew, as by systemd: locks begin at 1 then. */
async function successorOf(stateDir: string, before: Holder): Promise<Holder | undefined> {
  while (isAlive(before.pid, before.startTime)) await sleep(LOOK_MS);
  const next = isAbandoned(stateDir) ? await keeperOf(stateDir) : holderOf(stateDir);
  return next !== undefined && next.number > before.number ? next : undefined;
}

/** It may have known already, and be gone by now. */
function unlessOver(error: unknown): void {
  if (!(error instanceof ProcmanError) || error.code !== "no-daemon") throw error;
}
