/** Detects kills by the kernel's out-of-memory killer, by its counter for the cgroup or for the machine. */
import { join } from "node:path";
import { currentCgroup } from "./cgroup.ts";
import { textIfSeen } from "./files.ts";

/** Kills counted longer ago than this can't explain an exit. Milliseconds. */
const FRESH_MS = 10_000;
const COUNT = /^oom_kill (\d+)$/m;

export class OomKills {
  readonly #count: () => number;
  #last: number;
  /** Kills that no exit has been attributed to yet. */
  #unclaimed = 0;
  #since = 0;

  constructor(count: () => number = oomKills) {
    this.#count = count;
    this.#last = count();
  }

  /** Reads the counter. */
  poll(now: number): void {
    const count = this.#count();
    if (now - this.#since > FRESH_MS) this.#unclaimed = 0;
    if (count > this.#last) {
      this.#unclaimed += count - this.#last;
      this.#since = now;
    }
    this.#last = count;
  }

  /** Whether a process that was killed a moment ago may be a victim; each counted kill explains one exit. */
  claim(now: number): boolean {
    this.poll(now);
    if (this.#unclaimed === 0) return false;
    this.#unclaimed--;
    return true;
  }
}

let file: string | undefined;

/** Kills in this cgroup and those below it (cgroup v2), or on the machine; 0 if there is no counter. */
export function oomKills(): number {
  if (process.platform !== "linux") return 0;
  file ??= fileThatCounts();
  return Number(COUNT.exec(textIfSeen(file))?.[1] ?? 0);
}

/** Whether the kernel has killed a process in this cgroup. */
export function hadOomKill(cgroup: string): boolean {
  return Number(COUNT.exec(textIfSeen(join(cgroup, "memory.events")))?.[1] ?? 0) > 0;
}

function fileThatCounts(): string {
  const cgroup = currentCgroup();
  const events = cgroup === undefined ? "" : join(cgroup, "memory.events");
  return COUNT.test(textIfSeen(events)) ? events : "/proc/vmstat";
}
