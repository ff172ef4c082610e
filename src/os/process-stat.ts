/** The kernel's data on a process, and whether a pid still belongs to the same process. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type ProcessStat = {
  readonly pid: number;
  /** `Z`: a zombie, for which `kill(pid, 0)` succeeds. */
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since boot, in a unit of the system: only for comparisons. */
  readonly startTime: string;
};

const isLinux = process.platform === "linux";

/** undefined if there is no such process. */
export function processStat(pid: number): ProcessStat | undefined {
  return isLinux ? fromProc(pid) : fromPs(["-p", String(pid)])[0];
}

/** Whether this process (not its zombie, nor a later process with the same pid) is alive. */
export function isAlive(pid: number, startTime: string): boolean {
  const stat = processStat(pid);
  return stat !== undefined && stat.startTime === startTime && stat.state !== "Z" && stat.state !== "X";
}

/** All processes of the machine. Linux: about 10 µs each. */
export function allProcesses(): readonly ProcessStat[] {
  if (!isLinux) return fromPs(["-ax"]);
  return allPids().flatMap((pid) => fromProc(pid) ?? []);
}

/** The environment of each process of the machine, see `processEnvironment`. Linux: about 10 µs each. */
export function* allEnvironments(): Generator<readonly [pid: number, environment: string], void> {
  if (isLinux) for (const pid of allPids()) yield [pid, processEnvironment(pid) ?? ""];
  else
    for (const line of psLines(["-ax", "-E", "-ww", "-o", "pid=,command="])) {
      const [, pid, environment = ""] = /^\s*(\d+) (.*)$/.exec(line) ?? [];
      yield [Number(pid), environment];
    }
}

/** `NAME=value` separated by NUL bytes (on macOS by spaces, after the command line); undefined if it isn't readable. */
export function processEnvironment(pid: number): string | undefined {
  try {
    return isLinux ? readFileSync(`/proc/${pid}/environ`, "utf8") : outputOf("ps", ["-E", "-ww", "-o", "command=", "-p", String(pid)]);
  } catch {
    return undefined;
  }
}

/** The boot id, once read. */
let known: string | undefined;

/**
 * Differs after each boot of the machine, and in each container with its own pids. Start times, monotonic times and pids of
 * another boot are meaningless.
 */
export function bootId(): string {
  known ??= isLinux
    ? `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${pidNamespace()}`
    : outputOf("sysctl", ["-n", "kern.boottime"]).trim();
  return known;
}

/** namespaces(7); empty if the kernel has none. */
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
    // Node reads a file as UTF-8 in one step: a third of the time of "latin1". Only the name could be garbled.
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
  return process.getBuiltinModule("node:child_process").execFileSync(program, args, { encoding: "utf8", maxBuffer: MAX_BYTES });
}
