/** Ends the processes that a run left behind: members of its process group or cgroup, and carriers of its marker. */
import type { RunMarkers } from "../../base/run-marker.ts";
import type { RunKey } from "../../ipc/keeper-protocol.ts";
import { cgroupMembers, killCgroup } from "../../os/cgroup.ts";
import { monotonicMs } from "../../os/clock.ts";
import { isPartName } from "../../os/part-title.ts";
import { signalIfThere } from "../../os/process-signal.ts";
import {
  ageOf,
  allEnvironments,
  allProcesses,
  type ProcessStat,
  processName,
  processStat,
  uidsOf,
} from "../../os/process-stat.ts";
import { isGenuine } from "../../os/process-tree.ts";
import { unlessShort } from "../../os/shortage.ts";
import type { SignalName } from "../../supervisor/states.ts";

/** By what the processes that a run left behind are found. */
export type LeftoverProcesses = RunKey & {
  /** Pid of the leader, which has ended: also the id of its group and session. */
  readonly pid: number;
  /** The user of the slot, if it isn't procman's own. */
  readonly uid?: number;
  /** Folder of its cgroup, if it has one. */
  readonly cgroup?: string;
};

type SweepRun = LeftoverProcesses & {
  signal: SignalName;
  /** Members that got the signal, by pid and start time. */
  readonly signalled: Set<string>;
  /** Pids of members that were stopped before SIGKILL. */
  readonly halted: Set<number>;
  /** Looks in a row that found no member. */
  emptyLooks: number;
  /** Looks since the last member was found that saw a process which may be one. */
  unsureLooks: number;
  /** How often its members were stopped. */
  stops: number;
  /** When SIGKILL was asked for, or a new member was found since. Monotonic milliseconds. */
  newest: number;
  /** Members at the last look. */
  left: number;
  readonly done: (left: number) => void;
};

/** Intervals between checks grow from the first to the second. Milliseconds. */
const FIRST_POLL_MS = 5;
const MAX_POLL_MS = 250;
/** Wait after SIGKILL, and after the last new member: a process that is still there then hangs in the kernel. Milliseconds. */
const GIVE_UP_MS = 5_000;
/** While the table is read, a process may make a child that isn't in it, and end. The looks are `FIRST_POLL_MS` apart. */
const EMPTY_LOOKS = 5;
const EMPTY_LOOKS_AFTER_HALT = 8;
/** A process that is just executing a program has no environment for a moment, which may last on a loaded machine. Seconds. */
const EXECUTING_SECONDS = 1;
/** A machine may always have such a process, which hasn't the marker: at most so many looks wait for it, under a second in all. */
const UNSURE_LOOKS = 8;
/** Parent of the kernel's own threads, which have no environment. */
const KTHREADD = 2;
/** What is known of a process that has ended while it was looked at. */
const GONE = { state: "Z", parent: 0, group: 0, session: 0, startTime: "" };
/** Members are stopped in one go until so many looks have found no new one, or it has taken too long. Milliseconds. */
const QUIET_LOOKS = 3;
const FREEZE_MS = 60;
/** Members are stopped this often at most before they are killed. */
const MAX_STOPS = 50;

export class Sweeper {
  readonly #markers: RunMarkers;
  readonly #sweeps = new Map<string, SweepRun>();
  #timer: NodeJS.Timeout | NodeJS.Immediate | undefined;
  #delay = FIRST_POLL_MS;
  /** Processes that were looked at while members are stopped. */
  readonly #known = new Set<number>();
  /** Processes without a marker of a sweep at the last look. A look that reads only of others is over before short-lived members have ended. */
  readonly #others = new Set<number>();
  /** In the last look, a process was just executing a program: it may be a member. */
  #hasUnknown = false;

  constructor(markers: RunMarkers) {
    this.#markers = markers;
  }

  /** One read of the process table serves all sweeps under way. `done` gets the number of members that couldn't be ended. */
  sweep(target: LeftoverProcesses, signal: SignalName, done: SweepRun["done"]): void {
    const key = keyOf(target);
    const known = this.#sweeps.get(key);
    const sweep = known ?? {
      ...target,
      signal,
      signalled: new Set(),
      halted: new Set(),
      emptyLooks: 0,
      unsureLooks: 0,
      stops: 0,
      newest: 0,
      left: 0,
      done,
    };
    if (known === undefined) this.#sweeps.set(key, sweep);
    else if (known.signal !== signal) Object.assign(known, { signal, emptyLooks: 0 }).signalled.clear();
    if (signal === "SIGKILL") {
      if (target.cgroup !== undefined) killCgroup(target.cgroup);
      sweep.newest = monotonicMs();
      this.#giveUpAfter(key, GIVE_UP_MS);
    }
    this.#delay = FIRST_POLL_MS;
    if (this.#timer === undefined) this.#timer = setImmediate(() => this.#poll());
  }

  #giveUpAfter(key: string, ms: number): void {
    setTimeout(() => {
      const { newest } = this.#sweeps.get(key) ?? {};
      const left = (newest ?? 0) + GIVE_UP_MS - monotonicMs();
      if (left <= 0) this.#finish(key);
      else this.#giveUpAfter(key, left);
    }, ms).unref();
  }

  stop(): void {
    this.#sweeps.clear();
    clearTimeout(this.#timer as NodeJS.Timeout);
    clearImmediate(this.#timer as NodeJS.Immediate);
    this.#timer = undefined;
  }

  #poll(): void {
    this.#timer = undefined;
    if ([...this.#sweeps.values()].some(({ signal }) => signal === "SIGKILL")) unlessShort(() => this.#freeze());
    const halted = new Map([...this.#sweeps].map(([key, sweep]) => [key, sweep.halted.size]));
    const left = unlessShort(() => this.#members());
    let isHurried = false;
    // What can't be looked up now is looked up again.
    for (const [key, sweep] of left === undefined ? [] : [...this.#sweeps])
      if (this.#advance(sweep, left?.get(key) ?? [], halted.get(key) ?? 0)) isHurried = true;
    if (this.#sweeps.size === 0) for (const seen of [this.#known, this.#others]) seen.clear();
    if (this.#sweeps.size === 0 || this.#timer !== undefined) return;
    if (isHurried) this.#timer = setImmediate(() => this.#poll());
    else {
      this.#timer = setTimeout(() => this.#poll(), this.#delay);
      this.#delay = Math.min(MAX_POLL_MS, this.#delay * 2);
    }
  }

  /**
   * Stops members as soon as they are there: programs that make another process and end within milliseconds are
   * otherwise gone when a look at all processes is done. Each look after the first takes a fraction of a millisecond,
   * as it reads only of new processes.
   */
  #freeze(): void {
    this.#marked(this.#known);
    const end = monotonicMs() + FREEZE_MS;
    for (let quiet = 0; quiet < QUIET_LOOKS && monotonicMs() < end; )
      quiet = this.#marked(this.#known).size === 0 ? quiet + 1 : 0;
  }

  /** Returns whether to look again at once. */
  #advance(sweep: SweepRun, members: readonly ProcessStat[], haltedBefore: number): boolean {
    sweep.left = members.length;
    // One that was stopped just now isn't in the table that was read before.
    const isEmpty = members.length === 0 && sweep.halted.size === haltedBefore;
    const isUnsure = isEmpty && this.#hasUnknown && sweep.unsureLooks < UNSURE_LOOKS;
    if (!isEmpty) Object.assign(sweep, { emptyLooks: 0, unsureLooks: 0 });
    else if (isUnsure) sweep.unsureLooks += 1;
    else sweep.emptyLooks += 1;
    if (members.length > 0) return signalAll(sweep, members, haltedBefore);
    this.#delay = FIRST_POLL_MS;
    if (sweep.emptyLooks >= (sweep.halted.size > 0 ? EMPTY_LOOKS_AFTER_HALT : EMPTY_LOOKS)) this.#finish(keyOf(sweep));
    return false;
  }

  #finish(key: string): void {
    const sweep = this.#sweeps.get(key);
    this.#sweeps.delete(key);
    sweep?.done(sweep.left);
  }

  #members(): ReadonlyMap<string, readonly ProcessStat[]> {
    const all = allProcesses();
    const listed = new Set(all.map(({ pid }) => pid));
    const groups = this.#groups(listed);
    const inCgroup = new Map(
      [...this.#sweeps].flatMap(([key, { cgroup }]) =>
        cgroup === undefined ? [] : cgroupMembers(cgroup).map((pid) => [pid, key] as const),
      ),
    );
    const marked = this.#keysByPid();
    const found = new Map<string, ProcessStat[]>();
    // Those that have come since the table was read count even if they are gone by now: where members live for
    // milliseconds, none is in both.
    const since = [...marked.keys()].flatMap((pid) => (listed.has(pid) ? [] : (processStat(pid) ?? { ...GONE, pid })));
    for (const stat of [...all, ...since]) {
      if (stat.state === "Z" && listed.has(stat.pid)) continue;
      const key = inCgroup.get(stat.pid) ?? groups.get(stat.group) ?? groups.get(stat.session) ?? marked.get(stat.pid);
      if (key !== undefined && !isOwnPart(stat)) found.set(key, [...(found.get(key) ?? []), stat]);
    }
    return found;
  }

  /** A pid is reused only when its group is empty, so a process with the leader's pid means another group. Groups 0 and 1 are the system's. */
  #groups(alive: ReadonlySet<number>): ReadonlyMap<number, string> {
    return new Map(
      [...this.#sweeps].flatMap(([key, { pid }]) => (pid <= 1 || alive.has(pid) ? [] : [[pid, key] as const])),
    );
  }

  /** Runs being swept, by pids of the processes that carry their markers. */
  #keysByPid(): ReadonlyMap<number, string> {
    this.#hasUnknown = false;
    const marked = this.#marked(this.#others);
    for (const pid of marked.keys()) this.#others.delete(pid);
    return marked;
  }

  /** `known`: processes that are not looked at, and gets the others, unless they are just executing a program. */
  #marked(known: Set<number>): ReadonlyMap<number, string> {
    const marked = new Map<number, string>();
    for (const [pid, environment] of allEnvironments(known)) {
      if (environment === "" && isExecuting(pid)) this.#hasUnknown = true;
      else known.add(pid);
      const marker = this.#markers.in(environment);
      const sweep = marker === undefined ? undefined : this.#sweeps.get(keyOf(marker));
      if (marker === undefined || sweep === undefined || !isGenuine(pid, marker, () => sweep.uid)) continue;
      if (isOwnPart(processStat(pid) ?? { pid })) continue;
      marked.set(pid, keyOf(marker));
      // At once: a look takes longer than a process needs to make another and end.
      if (sweep.signal === "SIGKILL") halt(sweep, pid);
    }
    return marked;
  }
}

/** Whether it was started so lately that it may be between fork and the environment of its program. */
function isExecuting(pid: number): boolean {
  const { startTime, state, parent } = processStat(pid) ?? {};
  if (startTime === undefined || state === "Z" || parent === KTHREADD || !isReadable(pid)) return false;
  return Math.abs(ageOf(startTime)) < EXECUTING_SECONDS;
}

/** Whether this user may read its environment. Another user's process is not a member, then. */
function isReadable(pid: number): boolean {
  const own = process.geteuid?.();
  return own === 0 || uidsOf(pid)?.real === own;
}

function keyOf({ slot, run }: RunKey): string {
  return `${slot}.${run}`;
}

/** The keeper and its parts are not leftovers, even if a run started this procman, so that they carry its marker. */
function isOwnPart({ pid, parent }: Pick<ProcessStat, "pid"> & Partial<ProcessStat>): boolean {
  return pid === process.pid || pid === process.ppid || (parent === process.ppid && isPartName(processName(pid)));
}

/** A stopped process makes no more children. */
function halt(sweep: SweepRun, pid: number): void {
  if (sweep.halted.has(pid)) return;
  sweep.halted.add(pid);
  sweep.newest = monotonicMs();
  signalIfThere(pid, "SIGSTOP");
}

/** Each member gets the signal once; SIGKILL when all are stopped. Returns whether to look again at once, as some are new. */
function signalAll(sweep: SweepRun, members: readonly ProcessStat[], haltedBefore: number): boolean {
  if (sweep.signal === "SIGKILL") {
    for (const { pid } of members) halt(sweep, pid);
    if (sweep.halted.size > haltedBefore && sweep.stops++ < MAX_STOPS) return true;
    for (const { pid } of members) signalIfThere(pid, "SIGKILL");
    return false;
  }
  for (const { pid, startTime } of members) {
    const key = `${pid} ${startTime}`;
    if (!sweep.signalled.has(key)) signalIfThere(pid, sweep.signal);
    sweep.signalled.add(key);
  }
  return false;
}
