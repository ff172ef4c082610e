/** With its keeper gone, a logger that still reads sees to it that another comes: in case the service was killed, too. */
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KeptSockets } from "../os/kept-sockets.ts";
import { holderOf } from "../os/lock.ts";
import { type Revival, revive } from "../os/revival.ts";

/** The service, if it lives, is quicker than that. Milliseconds. */
const LOOK_MS = 1_000;
const ATTEMPTS = 10;

/** `home`: the run folder. Ends with the process; it hands over to the logger of a new keeper, or leaves when its last run is over. */
export async function callForKeeper(revival: Revival, home: string, sockets: KeptSockets): Promise<void> {
  const stateDir = dirname(home);
  for (let attempts = 0; attempts < ATTEMPTS; ) {
    await sleep(LOOK_MS, undefined, { ref: false });
    if (holderOf(stateDir) !== undefined) attempts = 0;
    else {
      attempts += 1;
      await revive(revival, stateDir, sockets);
    }
  }
}
