/** Whether what answers on the port of a run belongs to that run. */
import { userInfo } from "node:os";
import { allListeners, type ListeningPort, SHARED_SCAN_MS } from "./listening-ports.ts";
import { commOf, holds, inodesOf, named } from "./port-owner.ts";
import { allProcesses, hasEnded, type ProcessStat, uidsOf } from "./process-stat.ts";
import { unlessShort } from "./shortage.ts";

/** Programs that listen for others, such as containers: the process behind them may belong to the run. */
const FORWARDERS = new Set([
  "docker-proxy",
  "rootlessport",
  "rootlesskit",
  "conmon",
  "pasta",
  "slirp4netns",
  "systemd",
  "ssh",
]);
/** Programs that ask a service to start a process: it may listen as any user, and is not a descendant of theirs. */
const LAUNCHERS = new Set([
  "docker",
  "docker-compose",
  "podman",
  "nerdctl",
  "kubectl",
  "systemd-run",
  "systemctl",
  "machinectl",
  "lxc",
]);
const ROOT = 0;

/** The run that should listen on a port. */
export type PortOfRun = {
  readonly port: number;
  readonly leader: number;
  /** User of the run; absent: procman's. */
  readonly uid?: number;
  /** Only the run itself should answer: an older program of any user, root included, is a stranger. */
  readonly isOwn: boolean;
};

/**
 * `ended`: the leader has ended, so that what answers can't be the run. `held`: `by` another program. `unknown`: file
 * descriptors or memory have run out, so that it can't be looked up.
 */
export type PortProblem =
  | { readonly t: "ended" }
  | { readonly t: "unknown" }
  | { readonly t: "held"; readonly by: string };

export class PortOwnership {
  readonly #run: PortOfRun;
  /** The sockets at the last check that found no problem. */
  #known = "";

  constructor(run: PortOfRun) {
    this.#run = run;
  }

  /** What is wrong with an answer on the port, now; undefined if nothing is, as far as the kernel shows it. */
  get problem(): PortProblem | undefined {
    if (hasEnded(this.#run.leader)) return { t: "ended" };
    return this.strangerOnly();
  }

  /** As `problem`, but a leader that has ended is none: its successor may not be known yet. */
  strangerOnly(): PortProblem | undefined {
    const by = unlessShort(() => this.#stranger() ?? "");
    if (by === undefined) return { t: "unknown" };
    return by === "" ? undefined : { t: "held", by };
  }

  #stranger(): string | undefined {
    const near = nearListeners(this.#run.port);
    const key = near.map(({ inode }) => inode).join(" ");
    if (near.length === 0 || key === this.#known) return undefined;
    const stranger = strangerAmong(near, this.#run);
    this.#known = stranger === undefined ? key : "";
    return stranger;
  }
}

/** Sockets that get connections to 127.0.0.1, or else those that get connections to ::1. */
function nearListeners(port: number): readonly ListeningPort[] {
  const seen = rankedFirst(allListeners({ maxAgeMs: SHARED_SCAN_MS }), port);
  // What has answered may have begun to listen after a shared scan.
  return seen.length > 0 ? seen : rankedFirst(allListeners(), port);
}

function rankedFirst(all: readonly ListeningPort[], port: number): readonly ListeningPort[] {
  const near = all.filter((listener) => listener.port === port && listener.rank !== undefined);
  const first = Math.min(...near.map(({ rank = 0 }) => rank));
  return near.filter(({ rank }) => rank === first);
}

function strangerAmong(near: readonly ListeningPort[], { leader, uid, isOwn }: PortOfRun): string | undefined {
  const sockets = inodesOf(near);
  if (holds(leader, sockets)) return undefined;
  const all = allProcesses();
  const members = membersOf(leader, all);
  if ([...members].some((pid) => holds(pid, sockets))) return undefined;
  const holders = all.filter(({ pid }) => holds(pid, sockets));
  if (holders.some(({ pid }) => isForwarder(pid))) return undefined;
  const first = holders[0];
  if (![...members].some((pid) => LAUNCHERS.has(commOf(pid)))) {
    const allowed = new Set([ROOT, userInfo().uid, uid, ...[...members].map((pid) => uidsOf(pid)?.effective)]);
    const foreign = near.find((listener) => !allowed.has(listener.uid));
    if (foreign !== undefined) return first === undefined ? `a program of user ${foreign.uid}` : named(first.pid);
  }
  const own = all.find(({ pid }) => pid === leader);
  if (!isOwn || first === undefined || own === undefined || !holders.every((holder) => isBefore(holder, own)))
    return undefined;
  return named(first.pid);
}

/** Whether the program listens for others, such as containers. */
export function isForwarder(pid: number): boolean {
  return FORWARDERS.has(commOf(pid));
}

/** The leader, its session and all their descendants. */
function membersOf(leader: number, all: readonly ProcessStat[]): ReadonlySet<number> {
  const members = new Set([leader, ...all.filter(({ session }) => session === leader).map(({ pid }) => pid)]);
  for (let size = 0; size !== members.size; ) {
    size = members.size;
    for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
  }
  return members;
}

/** A process that started later may belong to the run, whatever its session. */
function isBefore(one: ProcessStat, other: ProcessStat): boolean {
  return Number(one.startTime) < Number(other.startTime);
}
