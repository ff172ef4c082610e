/** What the kernel says of a process, and whether a pid is still the process it was. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type ProcessStat = {
  readonly pid: number;
  /** `Z`: a zombie, which `kill(pid, 0)` takes for alive. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since boot, in a unit of the system: only good for comparing. */
  readonly startTime: string;
};

const isLinux = process.platform === "linux";

/** undefined: there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  return isLinux ? fromProc(pid) : fromPs(["-p", String(pid)])[0];
}

/** Whether this very process (not a later one of the same pid, nor its zombie) still lives. */
export function isAlive(pid: number, startTime: string): boolean {
  const stat = processStat(pid);
  return stat !== undefined && stat.startTime === startTime && stat.state !== "Z" && stat.state !== "X";
}

/** All processes of the machine. Linux: about 10 µs each. */
export function allProcesses(): readonly ProcessStat[] {
  if (!isLinux) return fromPs(["-ax"]);
  return allPids().flatMap((pid) => fromProc(pid) ?? []);
}

/** The environment of each process of the machine, one after the other; see `processEnvironment`. Linux: about 10 µs each. */
export function* allEnvironments(): Generator<readonly [pid: number, environment: string], void> {
  if (isLinux) for (const pid of allPids()) yield [pid, processEnvironment(pid) ?? ""];
  else
    for (const line of psLines(["-ax", "-E", "-ww", "-o", "pid=,command="])) {
      const [, pid, environment = ""] = /^\s*(\d+) (.*)$/.exec(line) ?? [];
      yield [Number(pid), environment];
    }
}

/** Its environment as `NAME=value` parted by NUL bytes (on macOS by spaces, behind its command line); undefined when it may not be read. */
export function processEnvironment(pid: number): string | undefined {
  try {
    return isLinux ? readFileSync(`/proc/${pid}/environ`, "utf8") : told("ps", ["-E", "-ww", "-o", "command=", "-p", String(pid)]);
  } catch {
    return undefined;
  }
}

/** Once it is asked for: it lasts longer than any process. */
let known: string | undefined;

/**
 * Differs after each boot of the machine, and of a container that has pids of its own: start times, monotonic times and pids
 * of another boot mean nothing.
 */
export function bootId(): string {
  known ??= isLinux
    ? `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${pidNamespace()}`
    : told("sysctl", ["-n", "kern.boottime"]).trim();
  return known;
}

/** namespaces(7); "": this kernel has none. */
function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "";
  }
}

function fromProc(pid: number): ProcessStat | undefined {
  let text: string;
  try {
    // As UTF-8 Node reads a file in one step: a third of the time of "latin1". Only the name could be damaged by it.
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  // The name in parentheses may itself hold spaces and parentheses: proc(5).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return {
    pid,
    state: fields[0] ?? "",
    parent: Number(fields[1]),
    group: Number(fields[2]),
    session: Number(fields[3]),
    startTime: fields[19] ?? "",
  };
}

function allPids(): readonly number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** None when it has found nobody. */
function psLines(args: readonly string[]): readonly string[] {
  try {
    return told("ps", args).split("\n");
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

/** The environments of thousands. */
const MOST_BYTES = 1 << 28;

/** What a program prints. Loaded here, as most never need it: 2 ms of each command. */
function told(program: string, args: readonly string[]): string {
  return process.getBuiltinModule("node:child_process").execFileSync(program, args, { encoding: "utf8", maxBuffer: MOST_BYTES });
}
