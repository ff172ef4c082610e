/** Who listens on a TCP port of this machine, as far as Linux tells this user. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** State of a listening socket in /proc/net/tcp. */
const LISTEN = "0A";

/** `name (pid 12)`; undefined: it can't be seen, as another user's or in another container. */
export function holderOfPort(port: number): string | undefined {
  const sockets = new Set(["tcp", "tcp6"].flatMap((table) => socketsOn(port, table)).map((inode) => `socket:[${inode}]`));
  const pid = sockets.size === 0 ? undefined : numbersIn("/proc").find((each) => holds(each, sockets));
  return pid === undefined ? undefined : `${readable(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "a process"} (pid ${pid})`;
}

function socketsOn(port: number, table: string): readonly string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = (readable(() => readFileSync(`/proc/net/${table}`, "utf8")) ?? "").split("\n").slice(1);
  return rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local = "", , state]) => local.endsWith(wanted) && state === LISTEN)
    .map((fields) => fields[9] ?? "");
}

function holds(pid: string, sockets: ReadonlySet<string>): boolean {
  return numbersIn(`/proc/${pid}/fd`).some((fd) => sockets.has(readable(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? ""));
}

function numbersIn(folder: string): readonly string[] {
  return (readable(() => readdirSync(folder)) ?? []).filter((name) => /^\d+$/.test(name));
}

/** Processes end while one looks, and others' may not be looked into. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
