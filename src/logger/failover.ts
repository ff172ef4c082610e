/** Keeper failover by the logger: if the keeper is gone, a logger that still reads starts another, in case the service was killed too. */
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { InheritedSockets } from "../os/inherited-sockets.ts";
import { type FailoverOrder, startKeeper } from "../os/keeper-failover.ts";
import { holderOf } from "../os/lock.ts";

/** Interval of the checks; a living service is quicker. Milliseconds. */
const CHECK_MS = 1_000;
const ATTEMPTS = 10;

/** `home`: the run folder. Ends with the process, which hands over to the logger of a new keeper or exits after its last run. */
export async function callForKeeper(revival: FailoverOrder, home: string, sockets: InheritedSockets): Promise<void> {
  const stateDir = dirname(home);
  for (let attempts = 0; attempts < ATTEMPTS; ) {
    await sleep(CHECK_MS, undefined, { ref: false });
    if (holderOf(stateDir) !== undefined) attempts = 0;
    else {
      attempts += 1;
      await startKeeper(revival, stateDir, sockets);
    }
  }
}
