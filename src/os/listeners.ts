/** The TCP sockets of the machine that listen, by the kernel's tables where it has them: proc(5). */
import { closeSync, openSync, readSync } from "node:fs";

export type Listener = {
  readonly port: number;
  readonly inode: string;
  /** Who connects to 127.0.0.1 or ::1 may meet it. */
  readonly isNear: boolean;
  /** Connections that it has not accepted yet. */
  readonly queued: number;
};

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** In a table they stand before all others. The kernel walks through a table of a million buckets for the rest, and for a busy machine it is long. */
const PART_BYTES = 4_096;
/** States: LISTEN, and SYN_RECV, which older kernels have in between. */
const LISTENING = "0A";
const ARRIVING = "03";
/** Those who start together needn't all look. Milliseconds. */
const FRESH_MS = 20;
/** 127.0.0.1 and any address, as four bytes and as sixteen; ::1. In the byte order of the machine, which is taken for the usual one. */
const NEAR = /^(?:0{8}|0100007F|0{32}|0{16}FFFF0000(?:0{8}|0100007F)|0{24}01000000)$/;

let last: { readonly at: number; readonly all: readonly Listener[] } | undefined;

/** As they are now; `isFresh`: or as they were a moment ago. */
export function allListeners(isFresh = false): readonly Listener[] {
  const now = performance.now();
  if (isFresh && last !== undefined && now - last.at < FRESH_MS) return last.all;
  last = { at: now, all: TABLES.flatMap(listenersIn) };
  return last.all;
}

function listenersIn(table: string): readonly Listener[] {
  const found: Listener[] = [];
  for (const line of linesOf(table)) {
    const [, local = "", , state, queues = "", , , , , inode = ""] = line.trim().split(/\s+/);
    if (state !== LISTENING && state !== ARRIVING) break;
    const [address = "", port = ""] = local.split(":");
    const queued = Number.parseInt(queues.split(":")[1] ?? "", 16);
    if (state === LISTENING) found.push({ port: Number.parseInt(port, 16), inode, isNear: NEAR.test(address), queued });
  }
  return found;
}

/** Without the heading. Read as far as it is asked for. */
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
