/** Listening TCP sockets of the machine, from the kernel's tables (proc(5)). */
import { closeSync, openSync, readSync } from "node:fs";
import { isShortage } from "./shortage.ts";

export type ListeningPort = {
  readonly port: number;
  /** As the kernel writes it. */
  readonly address: string;
  readonly inode: string;
  /** User of the process that opened it. */
  readonly uid: number;
  /** Order in which the sockets of a port get connections to 127.0.0.1, then to ::1, the lowest first; undefined: those don't reach it. */
  readonly rank: number | undefined;
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
/** By rank, in little-endian byte order: 127.0.0.1 in 4 and 16 bytes, the unspecified addresses, ::1. */
const NEAR = [/^(?:0100007F|0{16}FFFF00000100007F)$/, /^0{8}$/, /^(?:0{32}|0{16}FFFF00000{8})$/, /^0{24}01000000$/];
const LOCAL_6 = 3;

let last: { readonly at: number; readonly all: readonly ListeningPort[] } | undefined;

/**
 * The current listeners; with `maxAgeMs`, those of a scan less than this ago. Empty where the kernel doesn't show them.
 *
 * @throws Error if file descriptors or memory have run out
 */
export function allListeners({ maxAgeMs }: { readonly maxAgeMs?: number } = {}): readonly ListeningPort[] {
  const now = performance.now();
  if (maxAgeMs !== undefined && last !== undefined && now - last.at < maxAgeMs) return last.all;
  last = { at: now, all: TABLES.flatMap(listenersIn) };
  return last.all;
}

/** Ports on which a program of any user listens. @throws Error if file descriptors or memory have run out */
export function busyPorts(): ReadonlySet<number> {
  if (process.platform === "linux") return new Set(allListeners().map(({ port }) => port));
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { stdout } = spawnSync("netstat", ["-an", "-p", "tcp"], { encoding: "utf8" });
  return new Set([...(stdout ?? "").matchAll(/[.:](\d+)\s+\S+\s+LISTEN/g)].map(([, port]) => Number(port)));
}

function listenersIn(table: string): readonly ListeningPort[] {
  const found: ListeningPort[] = [];
  for (const line of linesOf(table)) {
    const [, local = "", , state, queues = "", , , uid, , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTENING && state !== ARRIVING) break;
    const [address = "", port = ""] = local.split(":");
    const queued = Number.parseInt(queues.split(":")[1] ?? "", 16);
    const rank = NEAR.findIndex((pattern) => pattern.test(address));
    if (state === LISTENING)
      found.push({
        port: Number.parseInt(port, 16),
        address,
        inode,
        uid: Number(uid),
        rank: rank < 0 ? undefined : rank,
        queued,
      });
  }
  return found;
}

/** The port, with its address unless connections to 127.0.0.1 reach it. */
export function listenerText({ address, port, rank }: ListeningPort): string {
  if (rank !== undefined && rank < LOCAL_6) return String(port);
  const bytes = (address.match(/.{8}/g) ?? []).flatMap((word) => (word.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return `${bytes.map((byte) => Number.parseInt(byte, 16)).join(".")}:${port}`;
  const groups = bytes.flatMap((byte, index) => (index % 2 === 0 ? [byte + bytes[index + 1]] : []));
  return `${new URL(`http://[${groups.join(":")}]`).hostname}:${port}`;
}

/** Lines without the heading. Reads only as far as the caller iterates. */
function* linesOf(file: string): Generator<string> {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if (isShortage(error)) throw error;
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
