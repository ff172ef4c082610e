/** Ends the processes that a run left behind: members of its process group or cgroup, and carriers of its marker. */
import { cgroupMembers, killCgroup } from "../../os/cgroup.ts";
import { signalIfThere } from "../../os/process-signal.ts";
import { allEnvironments, allProcesses, type ProcessStat } from "../../os/process-stat.ts";
import type { SignalName } from "../../supervisor/states.ts";

/** By what the processes that a run left behind are found. */
export type LeftoverProcesses = {
  readonly marker: string;
  /** Pid of the leader, which has ended: also the id of its group and session. */
  readonly pid: number;
  /** Folder of its cgroup, if it has one. */
  readonly cgroup?: string;
};

type SweepRun = LeftoverProcesses & { signal: SignalName; readonly signalled: Set<string>; readonly done: () => void };

/** Intervals between checks grow from the first to the second. Milliseconds. */
const FIRST_POLL_MS = 5;
const MAX_POLL_MS = 250;
/** Wait after SIGKILL: a process that is still there then hangs in the kernel. Milliseconds. */
const GIVE_UP_MS = 5_000;

export class Sweeper {
  readonly #sweeps = new Map<string, SweepRun>();
  #timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  #delay = FIRST_POLL_MS;

  /** One read of the process table serves all sweeps under way. */
  sweep(target: LeftoverProcesses, signal: SignalName, done: () => void): void {
    const { marker, cgroup } = target;
    const known = this.#sweeps.get(marker);
    if (known === undefined) this.#sweeps.set(marker, { ...target, signal, signalled: new Set(), done });
    else if (known.signal !== signal) Object.assign(known, { signal }).signalled.clear();
    if (signal === "SIGKILL") {
      if (cgroup !== undefined) killCgroup(cgroup);
      setTimeout(() => this.#finish(marker), GIVE_UP_MS).unref();
    }
    this.#delay = FIRST_POLL_MS;
    if (this.#timer === undefined) this.#timer = setImmediate(() => this.#poll());
  }

  stop(): void {
    this.#sweeps.clear();
    clearTimeout(this.#timer as NodeJS.Timeout);
    clearImmediate(this.#timer as NodeJS.Immediate);
    this.#timer = undefined;
  }

  #poll(): void {
    this.#timer = undefined;
    const left = this.#members();
    for (const [marker, sweep] of [...this.#sweeps]) {
      const members = left.get(marker) ?? [];
      if (members.length === 0) this.#finish(marker);
      for (const member of members) signalOnce(sweep, member);
    }
    if (this.#sweeps.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => this.#poll(), this.#delay);
    this.#delay = Math.min(MAX_POLL_MS, this.#delay * 2);
  }

  #finish(marker: string): void {
    const sweep = this.#sweeps.get(marker);
    this.#sweeps.delete(marker);
    sweep?.done();
  }

  #members(): ReadonlyMap<string, readonly ProcessStat[]> {
    const all = allProcesses();
    const groups = this.#groups(new Set(all.map(({ pid }) => pid)));
    const inCgroup = new Map(
      [...this.#sweeps.values()].flatMap(({ cgroup, marker }) =>
        cgroup === undefined ? [] : cgroupMembers(cgroup).map((pid) => [pid, marker] as const),
      ),
    );
    const marked = this.#markersByPid();
    const found = new Map<string, ProcessStat[]>();
    for (const stat of all) {
      if (stat.state === "Z" || stat.pid === process.pid) continue;
      const marker = inCgroup.get(stat.pid) ?? groups.get(stat.group) ?? groups.get(stat.session) ?? marked.get(stat.pid);
      if (marker !== undefined) found.set(marker, [...(found.get(marker) ?? []), stat]);
    }
    return found;
  }

  /** A pid is reused only when its group is empty, so a process with the leader's pid means another group. Groups 0 and 1 are the system's. */
  #groups(alive: ReadonlySet<number>): ReadonlyMap<number, string> {
    return new Map([...this.#sweeps.values()].flatMap(({ pid, marker }) => (pid <= 1 || alive.has(pid) ? [] : [[pid, marker] as const])));
  }

  /** Markers of runs being swept, by pids of the processes that carry them. */
  #markersByPid(): ReadonlyMap<number, string> {
    const marked = new Map<number, string>();
    for (const [pid, environment] of allEnvironments()) {
      const marker = /(?:^|[\0 ])PROCMAN_RUN_ID=([^\0 ]*)/.exec(environment)?.[1];
      if (marker !== undefined && this.#sweeps.has(marker)) marked.set(pid, marker);
    }
    return marked;
  }
}

function signalOnce({ signal, signalled }: SweepRun, { pid, startTime }: ProcessStat): void {
  const key = `${pid} ${startTime}`;
  if (signalled.has(key)) return;
  signalled.add(key);
  signalIfThere(pid, signal);
}
