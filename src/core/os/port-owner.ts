/** Finds the process that listens on a TCP port, among the processes that this user may inspect. */
import { readdirSync, readFileSync } from "node:fs";
import { printableLine } from "../base/printable.ts";
import { linkIfSeen } from "./files.ts";
import { allListeners, type ListeningPort, listenerText } from "./listening-ports.ts";
import { partOf } from "./part-title.ts";
import { allProcesses, type ProcessStat, processStat } from "./process-stat.ts";
import { stateFolderOf } from "./running-keepers.ts";
import { isShortage, unlessShort } from "./shortage.ts";

const KERNEL_LETTERS = 15;
/** Name of the main thread, and so of the process, in Node 24; Node 26 has `node-` before it. */
const THREAD = "MainThread";

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
  return unlessShort(() => {
    const sockets = inodesOf(listenersOn(port));
    if (sockets.size === 0) return undefined;
    const pid = pids().find((each) => holds(each, sockets));
    return pid === undefined ? undefined : named(pid);
  });
}

/** A program that holds a port, in words; `pid` is absent if it can't be found out. */
export type PortHolder = { readonly by: string; readonly pid?: number };

/** The program that kept an ended run from listening on its port; undefined if there is none, or if `isOwn` is true for it. */
export function holderBeside(port: number, isOwn: (pid: number) => boolean): PortHolder | undefined {
  return unlessShort(() => {
    const sockets = inodesOf(listenersOn(port));
    if (sockets.size === 0) return undefined;
    const holders = pids().filter((pid) => holds(pid, sockets));
    const [pid] = holders;
    if (holders.some(isOwn)) return undefined;
    return pid === undefined ? { by: "another program" } : { by: named(pid), pid };
  });
}

/** The processes that have the sockets which listen on these ports, by one look at all processes; none for a port whose process is hidden. */
export function holdersOf(ports: ReadonlySet<number>): ReadonlyMap<number, readonly number[]> {
  const found = unlessShort(() => {
    const listeners = allListeners().filter(({ port }) => ports.has(port));
    const portOf = new Map(listeners.map(({ inode, port }) => [`socket:[${inode}]`, port]));
    const holders = new Map(listeners.map(({ port }): [number, number[]] => [port, []]));
    for (const pid of listeners.length === 0 ? [] : pids())
      for (const fd of entries(`/proc/${pid}/fd`))
        holders.get(portOf.get(linkIfSeen(`/proc/${pid}/fd/${fd}`)) ?? 0)?.push(pid);
    return holders;
  });
  return found ?? new Map();
}

/** Whether each socket that listens on the port is open in one of these sessions; true if there is none. */
export function isHeldBy(sessions: ReadonlySet<number>, port: number): boolean {
  const listeners = unlessShort(() => listenersOn(port));
  if (listeners === undefined || listeners.length === 0) return listeners !== undefined;
  const open = unlessShort(() => openFilesOf(({ session }) => sessions.has(session)));
  return open !== undefined && listeners.every(({ inode }) => open.has(`socket:[${inode}]`));
}

/** Where a run listens by TCP: its leader and the other members of its session. The port, with the address unless connections to 127.0.0.1 reach it. */
export function listensOn(leader: number): readonly string[] {
  const found = unlessShort(() => {
    const open = openFilesOf(({ pid, session }) => pid === leader || session === leader);
    return allListeners().filter(({ inode }) => open.has(`socket:[${inode}]`));
  });
  const sorted = [...(found ?? [])].sort((one, other) => one.port - other.port);
  return [...new Set(sorted.map(listenerText))];
}

function openFilesOf(isMember: (process: ProcessStat) => boolean): ReadonlySet<string> {
  const members = allProcesses().filter(isMember);
  return new Set(
    members.flatMap(({ pid }) => entries(`/proc/${pid}/fd`).map((fd) => linkIfSeen(`/proc/${pid}/fd/${fd}`))),
  );
}

function listenersOn(port: number): readonly ListeningPort[] {
  return allListeners().filter((listener) => listener.port === port);
}

export function inodesOf(listeners: readonly ListeningPort[]): ReadonlySet<string> {
  return new Set(listeners.map(({ inode }) => `socket:[${inode}]`));
}

function pids(): readonly number[] {
  return entries("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** @throws Error if file descriptors or memory have run out */
export function holds(pid: number, sockets: ReadonlySet<string>): boolean {
  return entries(`/proc/${pid}/fd`).some((fd) => sockets.has(linkIfSeen(`/proc/${pid}/fd/${fd}`)));
}

/** `name (pid 12)`; of a part of procman with its state folder. */
export function named(pid: number): string {
  const name = printableLine(nameOf(pid));
  const isPart = partOf(name) !== undefined;
  const stateDir = isPart ? (stateFolderOf(pid) ?? stateFolderOf(processStat(pid)?.parent ?? 0)) : undefined;
  return `${name} (pid ${pid}${stateDir === undefined ? "" : `, ${printableLine(stateDir)}`})`;
}

/** The kernel truncates a name to 15 characters; the full one, also of a Node whose thread has a name, is in the command line. */
function nameOf(pid: number): string {
  const name = commOf(pid) || "a process";
  const [first = ""] = textOf(`/proc/${pid}/cmdline`).split("\0");
  const programName = first.slice(first.lastIndexOf("/") + 1);
  if (programName === "") return name;
  const isSame = name.length === KERNEL_LETTERS && programName.startsWith(name);
  const isPart = partOf(name) !== undefined && partOf(first) !== undefined;
  return isPart ? first : isSame || name.endsWith(THREAD) ? programName : name;
}

/** Name of the program, at most 15 characters. */
export function commOf(pid: number): string {
  return textOf(`/proc/${pid}/comm`).trim();
}

/** Processes may exit during the scan, and those of other users are not readable. */
function entries(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isShortage(error)) throw error;
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
