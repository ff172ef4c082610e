/** Keeper failover by the logger: if the keeper is gone, its logger starts another, in case the service was killed too. */
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "../base/errors.ts";
import type { InheritedSockets } from "../os/inherited-sockets.ts";
import { endedInOrder, type FailoverOrder, startKeeper } from "../os/keeper-failover.ts";
import { holderOf } from "../os/lock.ts";
import { unlessShort } from "../os/shortage.ts";

/** Interval of the checks; a living service is quicker. Milliseconds. */
const CHECK_MS = 1_000;
/** Keepers that were started and have ended. */
const ATTEMPTS = 10;

/**
 * `home`: the run folder. Resolves when this logger isn't needed any more: another keeper is there, and it reads nothing; everything
 * has ended in order; or no keeper stays up. A logger that reads hands over to that of the new keeper.
 */
export async function callForKeeper(
  revival: FailoverOrder,
  home: string,
  { sockets, isIdle }: { readonly sockets: InheritedSockets; readonly isIdle: () => boolean },
): Promise<void> {
  const stateDir = dirname(home);
  for (let attempts = 0; attempts < ATTEMPTS; ) {
    await sleep(CHECK_MS);
    const seen = unlessShort(() => look(stateDir));
    if (seen === "ended" || (seen === "there" && isIdle())) return;
    if (seen === "missing") attempts += (await startKeeper(revival, stateDir, sockets)) === "failed" ? 0 : 1;
    else if (seen === "there") attempts = 0;
  }
}

function look(stateDir: string): "ended" | "missing" | "there" {
  try {
    if (endedInOrder(stateDir)) return "ended";
    return holderOf(stateDir) === undefined ? "missing" : "there";
  } catch (error) {
    // A folder without rights: `startKeeper` meets the same error and reports it, until the folder has them again.
    if (errnoOf(error) === "EACCES") return "missing";
    throw error;
  }
}
