/** Who listens on a TCP port: found by the kernel's tables where it has them, and only among processes that we may look at. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Why nobody can listen there, by the errno of the attempt; undefined: for none of the reasons that users meet. */
export function whyNotListening(code: string, port: number): string | undefined {
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use by ${holderOfPort(port) ?? "another program"}`;
    case "EACCES":
      return "ports below 1024 are not for everybody; take another one, or allow it with setcap cap_net_bind_service or net.ipv4.ip_unprivileged_port_start";
    case "EADDRNOTAVAIL":
      return "the machine has no such address";
    default:
      return undefined;
  }
}

/** `name (pid 12)`; undefined: nobody, or it can't be seen, as another user's or in another container. */
export function holderOfPort(port: number): string | undefined {
  const sockets = new Set(
    ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listening(table, port)).map((inode) => `socket:[${inode}]`),
  );
  if (sockets.size === 0) return undefined;
  for (const pid of entries("/proc").filter((name) => /^\d+$/.test(name)))
    if (entries(`/proc/${pid}/fd`).some((fd) => sockets.has(target(`/proc/${pid}/fd/${fd}`)))) return `${nameOf(pid)} (pid ${pid})`;
  return undefined;
}

/** Inodes of sockets in the state LISTEN (0A): proc(5). */
function listening(table: string, port: number): readonly string[] {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return textOf(table)
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/);
      return fields[3] === "0A" && fields[1]?.endsWith(`:${wanted}`) ? [fields[9] ?? ""] : [];
    });
}

function nameOf(pid: string): string {
  return textOf(`/proc/${pid}/comm`).trim() || "a process";
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
