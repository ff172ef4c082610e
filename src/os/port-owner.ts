/** Finds the process that listens on a TCP port, among the processes that this user may inspect. */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { allProcesses, type ProcessStat } from "./process-stat.ts";

const KERNEL_LETTERS = 15;
/** Name of the main thread, and so of the process, in Node 24; Node 26 has `node-` before it. */
const THREAD = "MainThread";
/** Programs that listen for others, such as containers: the process behind them may belong to the run. */
const FORWARDERS = new Set(["docker-proxy", "rootlessport", "rootlesskit", "conmon", "pasta", "slirp4netns", "systemd", "ssh"]);

/** Explains why a listening attempt failed; undefined for an errno that has no explanation. */
export function whyNotListening(code: string, port: number): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use by ${holderOfPort(port) ?? "another program"}`;
    case "EACCES":
      return "ports below 1024 need a privilege; use another port, or allow it with setcap cap_net_bind_service or net.ipv4.ip_unprivileged_port_start";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "that host name has no known address";
    case "EADDRNOTAVAIL":
      return "the machine has no such address";
    default:
      return undefined;
  }
}

/** `name (pid 12)`; undefined if nothing listens there, or the process is hidden (another user's, or in another container). */
export function holderOfPort(port: number): string | undefined {
  const sockets = inodesOf(listenersOn(port));
  if (sockets.size === 0) return undefined;
  const pid = pids().find((each) => holds(each, sockets));
  return pid === undefined ? undefined : named(pid);
}

/** The process that kept an ended run from listening on its port; undefined if there is none, or if `isOwn` is true for it. */
export function holderBeside(port: number, isOwn: (pid: number) => boolean): string | undefined {
  const sockets = inodesOf(listenersOn(port));
  if (sockets.size === 0) return undefined;
  const holders = pids().filter((pid) => holds(pid, sockets));
  const [first] = holders;
  if (holders.some(isOwn)) return undefined;
  return first === undefined ? "another program" : named(first);
}

/**
 * The program that answers on a port in place of the run with this leader: it is older than the run and not part of it.
 * undefined if there is none, or it can't be seen.
 */
export function strangerOn(port: number, leader: number): string | undefined {
  const listeners = allListeners({ maxAgeMs: SHARED_SCAN_MS }).filter((listener) => listener.port === port);
  const near = inodesOf(listeners.filter(({ isNear }) => isNear));
  const sockets = inodesOf(listeners);
  if (near.size === 0 || holds(leader, sockets)) return undefined;
  const all = allProcesses();
  const own = all.find(({ pid }) => pid === leader);
  if (own === undefined) return undefined;
  const holders = all.filter(({ pid }) => holds(pid, sockets));
  const first = holders.find(({ pid }) => holds(pid, near));
  if (first === undefined || holders.some((holder) => !isBefore(holder, own) || FORWARDERS.has(commOf(holder.pid)))) return undefined;
  return named(first.pid);
}

/** The TCP ports on which a run listens: its leader and the other members of its session. */
export function portsOf(leader: number): readonly number[] {
  const members = allProcesses().filter(({ pid, session }) => pid === leader || session === leader);
  const open = new Set(members.flatMap(({ pid }) => entries(`/proc/${pid}/fd`).map((fd) => target(`/proc/${pid}/fd/${fd}`))));
  const own = allListeners().filter(({ inode }) => open.has(`socket:[${inode}]`));
  return [...new Set(own.map(({ port }) => port))].sort((one, other) => one - other);
}

function listenersOn(port: number): readonly ListeningPort[] {
  return allListeners().filter((listener) => listener.port === port);
}

function inodesOf(listeners: readonly ListeningPort[]): ReadonlySet<string> {
  return new Set(listeners.map(({ inode }) => `socket:[${inode}]`));
}

function pids(): readonly number[] {
  return entries("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function holds(pid: number, sockets: ReadonlySet<string>): boolean {
  return entries(`/proc/${pid}/fd`).some((fd) => sockets.has(target(`/proc/${pid}/fd/${fd}`)));
}

/** A process that started later may belong to the run, whatever its session. */
function isBefore(one: ProcessStat, other: ProcessStat): boolean {
  return one.session !== other.pid && Number(one.startTime) < Number(other.startTime);
}

function named(pid: number): string {
  return `${nameOf(pid)} (pid ${pid})`;
}

/** The kernel truncates a name to 15 characters; the full one, also of a Node whose thread has a name, is in the command line. */
function nameOf(pid: number): string {
  const name = commOf(pid) || "a process";
  const [first = ""] = textOf(`/proc/${pid}/cmdline`).split("\0");
  const programName = first.slice(first.lastIndexOf("/") + 1);
  return programName !== "" && (name.endsWith(THREAD) || (name.length === KERNEL_LETTERS && programName.startsWith(name)))
    ? programName
    : name;
}

function commOf(pid: number): string {
  return textOf(`/proc/${pid}/comm`).trim();
}

/** Processes may exit during the scan, and those of other users are not readable. */
function entries(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return "";
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** Listening TCP sockets of the machine, from the kernel's tables (proc(5)). */

export type ListeningPort = {
  readonly port: number;
  readonly inode: string;
  /** Whether connections to 127.0.0.1 or ::1 can reach it. */
  readonly isNear: boolean;
  /** Connections waiting to be accepted. */
  readonly queued: number;
};

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Listening sockets come first in the table. Reading the rest makes the kernel walk a million buckets, and can be long on a busy machine. */
const PART_BYTES = 4_096;
/** States of a socket: LISTEN, and SYN_RECV, which older kernels list in between. */
const LISTENING = "0A";
const ARRIVING = "03";
/** `maxAgeMs` for frequent callers: processes that start or drain together share one scan. */
export const SHARED_SCAN_MS = 20;
/** 127.0.0.1 and the unspecified address in 4 and 16 bytes, and ::1; in little-endian byte order. */
const NEAR = /^(?:0{8}|0100007F|0{32}|0{16}FFFF0000(?:0{8}|0100007F)|0{24}01000000)$/;

let last: { readonly at: number; readonly all: readonly ListeningPort[] } | undefined;

/** The current listeners; with `maxAgeMs`, those of a scan less than this ago. */
export function allListeners({ maxAgeMs }: { readonly maxAgeMs?: number } = {}): readonly ListeningPort[] {
  const now = performance.now();
  if (maxAgeMs !== undefined && last !== undefined && now - last.at < maxAgeMs) return last.all;
  last = { at: now, all: TABLES.flatMap(listenersIn) };
  return last.all;
}

function listenersIn(table: string): readonly ListeningPort[] {
  const found: ListeningPort[] = [];
  for (const line of linesOf(table)) {
    const [, local = "", , state, queues = "", , , , , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTENING && state !== ARRIVING) break;
    const [address = "", port = ""] = local.split(":");
    const queued = Number.parseInt(queues.split(":")[1] ?? "", 16);
    if (state === LISTENING) found.push({ port: Number.parseInt(port, 16), inode, isNear: NEAR.test(address), queued });
  }
  return found;
}

/** Lines without the heading. Reads only as far as the caller iterates. */
function* linesOf(file: string): Generator<string> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch {
    return;
  }
  try {
    const part = Buffer.alloc(PART_BYTES);
    let rest = "";
    let isHeading = true;
    for (let length = readSync(fd, part); length > 0; length = readSync(fd, part)) {
      const lines = (rest + part.toString("latin1", 0, length)).split("\n");
      rest = lines.pop() ?? "";
      if (isHeading) lines.shift();
      isHeading = false;
      yield* lines;
    }
  } finally {
    closeSync(fd);
  }
}
