/** CPU and memory of all processes of the machine, scanned in slices that don't block the event loop for long. */
import { execFile } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

export type ProcessUsage = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Since boot, in a unit of the system: only for comparisons. */
  readonly startTime: string;
  readonly cpuSeconds: number;
  /** CPU time of children that have exited and were waited for. */
  readonly reapedSeconds: number;
  /** Present if it came without an extra system call. */
  readonly memoryBytes?: number;
  /** Including shared pages; Linux. */
  readonly residentPages?: number;
};

const isLinux = process.platform === "linux";
/** Longest slice of a scan. Milliseconds. */
const SLICE_MS = 4;
/** USER_HZ, which is 100 on all platforms of Node: time(7). */
const TICKS = 100;
/** AT_PAGESZ: getauxval(3). */
const PAGE_SIZE_ENTRY = 6n;
const STAT_BYTES = 2_048;
const PS_BYTES = 64 * 1_024 * 1_024;

const buffer = Buffer.allocUnsafe(STAT_BYTES);
let page: number | undefined;

/** Linux: about 15 µs for each process. */
export async function processUsages(): Promise<readonly ProcessUsage[]> {
  if (!isLinux) return fromPs();
  const found: ProcessUsage[] = [];
  let slice = performance.now();
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first < 48 || first > 57) continue;
    if (performance.now() - slice > SLICE_MS) {
      await nextTurn();
      slice = performance.now();
    }
    const usage = parseStat(Number(name), readShort(`/proc/${name}/stat`));
    if (usage !== undefined) found.push(usage);
  }
  return found;
}

/**
 * Private memory in bytes: resident memory without pages that may be shared (files, libraries, shared memory). The
 * exact proportional share (PSS) costs a hundred times as much. macOS: all resident memory.
 */
export function ownMemory({ pid, memoryBytes }: Pick<ProcessUsage, "pid" | "memoryBytes">): number {
  if (memoryBytes !== undefined) return memoryBytes;
  const [, resident = 0, shared = 0] = readShort(`/proc/${pid}/statm`).split(" ", 3).map(Number);
  page ??= pageSize();
  return Math.max(0, resident - shared) * page;
}

export function parseStat(pid: number, text: string): ProcessUsage | undefined {
  // The name in parentheses may itself hold spaces and parentheses: proc(5).
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ", 22);
  if (fields.length < 22) return undefined;
  const number = (index: number): number => Number(fields[index]);
  return {
    pid,
    parent: number(1),
    group: number(2),
    session: number(3),
    startTime: fields[19] ?? "",
    cpuSeconds: (number(11) + number(12)) / TICKS,
    reapedSeconds: (number(13) + number(14)) / TICKS,
    residentPages: number(21),
  };
}

/** Resident memory in bytes, with pages that may be shared; undefined where `ownMemory` is that already. */
export function residentMemory({ residentPages }: ProcessUsage): number | undefined {
  if (residentPages === undefined) return undefined;
  page ??= pageSize();
  return residentPages * page;
}

/** A line of `ps -o pid=,ppid=,pgid=,time=,rss=,lstart=`. */
export function parsePs(line: string): ProcessUsage | undefined {
  const [pid, parent, group, time, resident, ...start] = line.trim().split(/\s+/);
  if (pid === undefined || start.length === 0) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    session: Number(group),
    startTime: start.join(" "),
    cpuSeconds: secondsIn(time ?? ""),
    reapedSeconds: 0,
    memoryBytes: Number(resident) * 1_024,
  };
}

/** `1:02.50`, `3:01:02`, `2-03:01:02` */
function secondsIn(time: string): number {
  const [days, clock] = time.includes("-") ? time.split("-", 2) : ["0", time];
  return Number(days) * 86_400 + (clock ?? "").split(":").reduce((sum, part) => sum * 60 + Number(part), 0);
}

async function fromPs(): Promise<readonly ProcessUsage[]> {
  const argv = ["-ax", "-o", "pid=,ppid=,pgid=,time=,rss=,lstart="];
  const { stdout } = await promisify(execFile)("ps", argv, { encoding: "utf8", maxBuffer: PS_BYTES });
  return stdout.split("\n").flatMap((line) => parsePs(line) ?? []);
}

/** Empty if the process has exited. */
function readShort(path: string): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return "";
  }
  try {
    return buffer.toString("latin1", 0, readSync(file, buffer, 0, STAT_BYTES, 0));
  } catch {
    return "";
  } finally {
    closeSync(file);
  }
}

function pageSize(): number {
  const entries = readFileSync("/proc/self/auxv");
  for (let at = 0; at + 16 <= entries.length; at += 16)
    if (entries.readBigUInt64LE(at) === PAGE_SIZE_ENTRY) return Number(entries.readBigUInt64LE(at + 8));
  return 4_096;
}
