/** Who listens on a TCP port: found only among processes that we may look at. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { allListeners, type Listener } from "./listeners.ts";
import { allProcesses, type ProcessStat } from "./process-stat.ts";

const KERNEL_LETTERS = 15;
/** Node 24 calls its first thread so, and with it the process; Node 26 puts `node-` before it. */
const THREAD = "MainThread";
/** They listen for others: those of containers may be of the run, and were there before it. */
const FORWARDERS = new Set(["docker-proxy", "rootlessport", "rootlesskit", "conmon", "pasta", "slirp4netns", "systemd", "ssh"]);

/** Why nobody can listen there, by the errno of the attempt; undefined: for none of the reasons that users meet. */
export function whyNotListening(code: string, port: number): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use by ${holderOfPort(port) ?? "another program"}`;
    case "EACCES":
      return "ports below 1024 are not for everybody; take another one, or allow it with setcap cap_net_bind_service or net.ipv4.ip_unprivileged_port_start";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "no address is known here for that name";
    case "EADDRNOTAVAIL":
      return "the machine has no such address";
    default:
      return undefined;
  }
}

/** `name (pid 12)`; undefined: nobody, or it can't be seen, as another user's or in another container. */
export function holderOfPort(port: number): string | undefined {
  const sockets = inodesOf(listenersOn(port));
  if (sockets.size === 0) return undefined;
  const pid = pids().find((each) => holds(each, sockets));
  return pid === undefined ? undefined : named(pid);
}

/** Who kept a run, which has ended, from its port. undefined: nobody, or somebody whom `isOwn` takes for one of its own. */
export function holderBeside(port: number, isOwn: (pid: number) => boolean): string | undefined {
  const sockets = inodesOf(listenersOn(port));
  if (sockets.size === 0) return undefined;
  const holders = pids().filter((pid) => holds(pid, sockets));
  const [first] = holders;
  if (holders.some(isOwn)) return undefined;
  return first === undefined ? "another program" : named(first);
}

/**
 * Who answers on a port in place of the run with this leader: a program that was there before it, and none of its own.
 * undefined: nobody, or it can't be seen.
 */
export function strangerOn(port: number, leader: number): string | undefined {
  const listeners = allListeners(true).filter((listener) => listener.port === port);
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

/** The TCP ports on which a run listens: its leader, and who else is in that one's session. */
export function portsOf(leader: number): readonly number[] {
  const members = allProcesses().filter(({ pid, session }) => pid === leader || session === leader);
  const open = new Set(members.flatMap(({ pid }) => entries(`/proc/${pid}/fd`).map((fd) => target(`/proc/${pid}/fd/${fd}`))));
  const own = allListeners().filter(({ inode }) => open.has(`socket:[${inode}]`));
  return [...new Set(own.map(({ port }) => port))].sort((one, other) => one - other);
}

function listenersOn(port: number): readonly Listener[] {
  return allListeners().filter((listener) => listener.port === port);
}

function inodesOf(listeners: readonly Listener[]): ReadonlySet<string> {
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

/** Whoever is born later may be of the run, in whatever session it is. */
function isBefore(one: ProcessStat, other: ProcessStat): boolean {
  return one.session !== other.pid && Number(one.startTime) < Number(other.startTime);
}

function named(pid: number): string {
  return `${nameOf(pid)} (pid ${pid})`;
}

/** The kernel keeps 15 letters of a name; a longer one is whole where the arguments begin, as is that of a Node which names its thread. */
function nameOf(pid: number): string {
  const name = commOf(pid) || "a process";
  const [first = ""] = textOf(`/proc/${pid}/cmdline`).split("\0");
  const whole = first.slice(first.lastIndexOf("/") + 1);
  return whole !== "" && (name.endsWith(THREAD) || (name.length === KERNEL_LETTERS && whole.startsWith(name))) ? whole : name;
}

function commOf(pid: number): string {
  return textOf(`/proc/${pid}/comm`).trim();
}

/** Processes end while they are looked at, and others' may not be. */
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
