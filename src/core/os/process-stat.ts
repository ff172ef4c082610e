/** The kernel's data on a process, and whether a pid still belongs to the same process. */
import { readdirSync, readFileSync } from "node:fs";
import { uptime } from "node:os";
import { linkIfSeen, textIfSeen } from "./files.ts";
import { isShortage, unlessShort, withReserve } from "./shortage.ts";

export type ProcessStat = {
  readonly pid: number;
  /** `Z`: a zombie, for which `kill(pid, 0)` succeeds. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since boot, in a unit of the system: for comparisons and `ageOf`. */
  readonly startTime: string;
};

const isLinux = process.platform === "linux";

/** undefined if there is no such process, or file descriptors have run out. */
export function processStat(pid: number): ProcessStat | undefined {
  return isLinux ? unlessShort(() => fromProc(pid)) : fromPs(["-p", String(pid)])[0];
}

/** For `--with-parent`, pid and start time: a later program with the same pid differs. */
export function ownIdentity(): string {
  return `${process.pid}-${processStat(process.pid)?.startTime ?? ""}`;
}

/** Unit of start times (proc(5), sysconf(3): 100 on each architecture of Linux). */
const TICKS_PER_SECOND = 100;

/** Seconds since the start of a process, to a hundredth (macOS: a second). Negative where the kernel shows the uptime of a container. */
export function ageOf(startTime: string): number {
  return isLinux ? uptime() - Number(startTime) / TICKS_PER_SECOND : (Date.now() - Date.parse(startTime)) / 1_000;
}

/** Whether this process (not its zombie, nor a later process with the same pid) is alive. */
export function isAlive(pid: number, startTime: string): boolean {
  // Without a free file descriptor it can only be asked whether the pid exists.
  const stat = isLinux ? unlessShort(() => fromProc(pid) ?? "none") : (processStat(pid) ?? "none");
  if (stat === undefined) return !hasEnded(pid);
  return stat !== "none" && stat.startTime === startTime && stat.state !== "Z" && stat.state !== "X";
}

/** Longest wait for a process that is about to end. Milliseconds. */
export const DYING_MS = 2_000;
/** SIGKILL, as the kernel shows pending signals; and its flags PF_EXITING and PF_SIGNALED. */
const KILL_BIT = 0x100n;
const ENDING_FLAGS = 0x404;

/** Whether a part of procman was killed, and will have ended in a moment. Linux only; elsewhere nobody can tell. */
export function isDying(pid: number, read = textIfSeen): boolean {
  const [, pending = "0"] = /^SigPnd:\s*([0-9a-f]+)$/m.exec(read(`/proc/${pid}/status`)) ?? [];
  if ((BigInt(`0x${pending}`) & KILL_BIT) !== 0n) return true;
  // Later: the signal that has been taken is no longer pending.
  const stat = read(`/proc/${pid}/stat`);
  const flags = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[6] ?? 0);
  return (flags & ENDING_FLAGS) !== 0;
}

/** Its name, of at most 15 bytes; "" if it has ended, and on macOS. */
export function processName(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8");
  } catch {
    return "";
  }
}

/** Whether a process has ended, for certain; a zombie has. */
export function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Otherwise it exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return true;
  }
  const state = processStat(pid)?.state;
  return state === "Z" || state === "X";
}

/**
 * All processes of the machine. Linux: about 10 µs each.
 *
 * @throws Error if file descriptors or memory have run out
 */
export function allProcesses(): readonly ProcessStat[] {
  if (!isLinux) return fromPs(["-ax"]);
  return allPids().flatMap((pid) => fromProc(pid) ?? []);
}

/**
 * The environment of each process of the machine, the latest first, without those in `known`, which forgets the ended
 * ones: see `processEnvironment`. Linux: about 10 µs each.
 *
 * @throws Error if file descriptors or memory have run out
 */
export function* allEnvironments(
  known = new Set<number>(),
): Generator<readonly [pid: number, environment: string], void> {
  if (isLinux) {
    const pids = allPids().toReversed();
    const present = new Set(pids);
    for (const pid of known) if (!present.has(pid)) known.delete(pid);
    for (const pid of pids.filter((each) => !known.has(each))) yield [pid, environmentFromProc(pid) ?? ""];
  } else
    for (const line of psLines(["-ax", "-E", "-ww", "-o", "pid=,command="])) {
      const [, pid, environment = ""] = /^\s*(\d+) (.*)$/.exec(line) ?? [];
      yield [Number(pid), environment];
    }
}

/** `NAME=value` separated by NUL bytes (on macOS by spaces, after the command line); undefined if it isn't readable. */
export function processEnvironment(pid: number): string | undefined {
  if (isLinux) return unlessShort(() => environmentFromProc(pid));
  try {
    return outputOf("ps", ["-E", "-ww", "-o", "command=", "-p", String(pid)]);
  } catch {
    return undefined;
  }
}

/** Environment of a process; if its first thread has ended, the other threads show it. */
function environmentFromProc(pid: number): string | undefined {
  try {
    const environment = read(`/proc/${pid}/environ`);
    if (environment !== "" || fromProc(pid)?.state !== "S") return environment;
    const other = withReserve(() => readdirSync(`/proc/${pid}/task`)).find((thread) => thread !== String(pid));
    return other === undefined ? environment : read(`/proc/${pid}/task/${other}/environ`);
  } catch (error) {
    if (isShortage(error)) throw error;
    return undefined;
  }
}

/**
 * Its users: `real` is the one who started it. The owner of the folder in /proc may differ: it is root where a process
 * may not be inspected. undefined if there is no such process.
 *
 * @throws Error if file descriptors or memory have run out
 */
export function uidsOf(pid: number): { readonly real: number; readonly effective: number } | undefined {
  try {
    const text = isLinux
      ? read(`/proc/${pid}/status`)
      : `Uid: ${outputOf("ps", ["-o", "ruid=,uid=", "-p", String(pid)])}`;
    const [, real, effective] = /^Uid:\s+(\d+)\s+(\d+)/m.exec(text) ?? [];
    return real === undefined || effective === undefined
      ? undefined
      : { real: Number(real), effective: Number(effective) };
  } catch (error) {
    if (isShortage(error)) throw error;
    return undefined;
  }
}

/** The boot id, once read. */
let known: string | undefined;

/**
 * Differs after each boot of the machine, and in each container with its own pids. Start times, monotonic times and
 * pids of another boot are meaningless.
 */
export function bootId(): string {
  known ??= isLinux
    ? `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${linkIfSeen("/proc/self/ns/pid")}`
    : outputOf("sysctl", ["-n", "kern.boottime"]).trim();
  return known;
}

/** Index of the number of threads among the fields of `/proc/PID/stat` after the name. */
const THREADS = 17;

function fromProc(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    text = read(`/proc/${pid}/stat`);
  } catch (error) {
    if (isShortage(error)) throw error;
    return undefined;
  }
  // The name in parentheses may itself hold spaces and parentheses: proc(5).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    // A process whose first thread has ended looks like a zombie while its other threads go on.
    state: fields[0] === "Z" && Number(fields[THREADS]) > 1 ? "S" : (fields[0] ?? ""),
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? "",
  };
}

/** Node reads a file as UTF-8 in one step: a third of the time of "latin1". Only the name of a process could be garbled. */
function read(path: string): string {
  return withReserve(() => readFileSync(path, "utf8"));
}

function allPids(): readonly number[] {
  return withReserve(() => readdirSync("/proc")).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Empty if `ps` found no process. */
function psLines(args: readonly string[]): readonly string[] {
  try {
    return outputOf("ps", args).split("\n");
  } catch {
    return [];
  }
}

function fromPs(which: readonly string[]): ProcessStat[] {
  return psLines([...which, "-o", "pid=,ppid=,pgid=,state=,lstart="]).flatMap((line) => {
    const [pid, parent, group, state, ...start] = line.trim().split(/\s+/);
    if (pid === undefined || parent === undefined || group === undefined || state === undefined) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: Number(group),
        state: state.slice(0, 1),
        startTime: start.join(" "),
      },
    ];
  });
}

/** Room for the environments of thousands of processes. */
const MAX_BYTES = 1 << 28;

/** The output of a program. The module is loaded here because few commands need it: 2 ms each. */
function outputOf(program: string, args: readonly string[]): string {
  return process
    .getBuiltinModule("node:child_process")
    .execFileSync(program, args, { encoding: "utf8", maxBuffer: MAX_BYTES });
}
