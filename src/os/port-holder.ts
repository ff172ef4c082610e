/** Who listens on a TCP port: found by the kernel's tables where it has them, and only among processes that we may look at. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { allProcesses } from "./process-stat.ts";

const KERNEL_LETTERS = 15;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

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
  const held = TABLES.flatMap(listeners).filter((listener) => listener.port === port);
  const sockets = new Set(held.map(({ inode }) => `socket:[${inode}]`));
  if (sockets.size === 0) return undefined;
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name)))
    if (entries(`/proc/${pid}/fd`).some((fd) => sockets.has(target(`/proc/${pid}/fd/${fd}`)))) return `${nameOf(pid)} (pid ${pid})`;
  return undefined;
}

/** The TCP ports on which a run listens: its leader, and who else is in that one's session. */
export function portsOf(leader: number): readonly number[] {
  const members = allProcesses().filter(({ pid, session }) => pid === leader || session === leader);
  const open = new Set(members.flatMap(({ pid }) => entries(`/proc/${pid}/fd`).map((fd) => target(`/proc/${pid}/fd/${fd}`))));
  const own = TABLES.flatMap(listeners).filter(({ inode }) => open.has(`socket:[${inode}]`));
  return [...new Set(own.map(({ port }) => port))].sort((one, other) => one - other);
}

/** Sockets in the state LISTEN (0A): proc(5). */
function listeners(table: string): readonly { readonly port: number; readonly inode: string }[] {
  return textOf(table)
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      const [, port = ""] = fields[1]?.split(":") ?? [];
      return fields[3] === "0A" ? [{ port: Number.parseInt(port, 16), inode: fields[9] ?? "" }] : [];
    });
}

/** The kernel keeps 15 letters of a name; a longer one is whole where the arguments begin. */
function nameOf(pid: string): string {
  const name = textOf(`/proc/${pid}/comm`).trim() || "a process";
  const [first = ""] = textOf(`/proc/${pid}/cmdline`).split("\0");
  const whole = first.slice(first.lastIndexOf("/") + 1);
  return name.length === KERNEL_LETTERS && whole.startsWith(name) ? whole : name;
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
