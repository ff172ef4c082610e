/** A run that was started a moment ago. */
import type { FromKeeper, RunKey, Running } from "../contract/keeper-protocol.ts";
import { processStat } from "../os/process-stat.ts";

/** Its start time is looked for when it is written or told: in the first moments of a process the kernel takes three times as long to tell. */
export function newborn({ slot, run }: RunKey, pid: number, since: number): Running {
  let startTime: string | undefined;
  return {
    slot,
    run,
    pid,
    since,
    get startTime() {
      startTime ??= processStat(pid)?.startTime ?? "";
      return startTime;
    },
  };
}

export function spawnedOf(running: Running): FromKeeper & { readonly t: "spawned" } {
  const { slot, run, pid, since } = running;
  return {
    t: "spawned",
    slot,
    run,
    pid,
    since,
    get startTime() {
      return running.startTime;
    },
  };
}
