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
 * After so many checks a keeper that has asked for no hand-over doesn't know this logger. Before, it may only have
 * locked the state folder, and what a run has written since the fork is still held here alone.
 */
const UNKNOWN_AFTER = 10;

/**
 * `home`: the run folder. Resolves when this logger isn't needed any more: everything has ended in order; no keeper
 * stays up; or another keeper doesn't know this logger, which reads nothing. Otherwise that keeper asks for a
 * hand-over.
 */
export async function callForKeeper(
  revival: FailoverOrder,
  home: string,
  { sockets, isIdle }: { readonly sockets: InheritedSockets; readonly isIdle: () => boolean },
): Promise<void> {
  const stateDir = dirname(home);
  const inARow = repetitions();
  for (let attempts = 0; attempts < ATTEMPTS; ) {
    await sleep(CHECK_MS);
    const seen = unlessShort(() => look(stateDir));
    const isUnknown = inARow(seen) >= UNKNOWN_AFTER && typeof seen === "number";
    if (seen === "ended" || (isUnknown && isIdle())) return;
    if (seen === "missing") attempts += (await startKeeper(revival, stateDir, sockets)) === "failed" ? 0 : 1;
    else if (seen !== undefined) attempts = 0;
  }
}

/** The pid of a keeper that is there. */
function look(stateDir: string): number | "ended" | "missing" {
  try {
    return endedInOrder(stateDir) ? "ended" : (holderOf(stateDir)?.pid ?? "missing");
  } catch (error) {
    // A folder without rights: `startKeeper` meets the same error and reports it, until the folder has them again.
    if (errnoOf(error) === "EACCES") return "missing";
    throw error;
  }
}

/** Counts how often in a row the function has been called with the same value. */
function repetitions(): (value: unknown) => number {
  let before: unknown;
  let count: number = 0;
  return (value) => {
    [before, count] = [value, value === before ? count + 1 : 1];
    return count;
  };
}
