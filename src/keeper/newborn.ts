/** A run that was started a moment ago. */
import type { RunKey, Running, Spawned } from "../contract/keeper-protocol.ts";
import { processStat } from "../os/process-stat.ts";

/** Its start time is looked for when it is written: in the first moments of a process the kernel takes three times as long to say it. */
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

export function spawnedOf({ slot, run, pid, since }: Running): Spawned {
  return { t: "spawned", slot, run, pid, since };
}
