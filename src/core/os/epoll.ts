/** Whether programs wait for connections: by epoll(7), or in a system call, from /proc (Linux). */
import { readdirSync, readFileSync } from "node:fs";
import { linkIfSeen } from "./files.ts";
import { allListeners } from "./listening-ports.ts";
import { allProcesses } from "./process-stat.ts";
import { unlessShort } from "./shortage.ts";

const EPOLL = "anon_inode:[eventpoll]";
/** Where the kernel lets a process wait that accepts connections, or polls descriptors. */
const WAITS = /accept|poll|select/;

/**
 * Whether a run waits for connections on a listening port: its leader, or another member of its session. Without epoll,
 * one that waits in accept(2), poll(2) or select(2) counts. undefined: unknown.
 */
export function waitsForConnections(leader: number, port: number): boolean | undefined {
  return unlessShort(() => {
    const inodes = new Set(allListeners().flatMap((listener) => (listener.port === port ? [listener.inode] : [])));
    const members = allProcesses().filter(({ pid, session }) => pid === leader || session === leader);
    const watched = members.flatMap(({ pid }) => epollsOf(pid));
    if (watched.length === 0) return members.some(({ pid }) => WAITS.test(waitChannelOf(pid))) || undefined;
    return watched.some((each) => each.some((inode) => inodes.has(inode)));
  });
}

/** The inodes that each epoll instance of the process watches. */
function epollsOf(pid: number): readonly (readonly string[])[] {
  const folder = `/proc/${pid}`;
  try {
    return readdirSync(`${folder}/fd`)
      .filter((fd) => linkIfSeen(`${folder}/fd/${fd}`) === EPOLL)
      .map((fd) => watchedInodes(readFileSync(`${folder}/fdinfo/${fd}`, "latin1")));
  } catch {
    // It has ended, or belongs to another user.
    return [];
  }
}

function waitChannelOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/wchan`, "latin1");
  } catch {
    return "";
  }
}

function watchedInodes(info: string): readonly string[] {
  return [...info.matchAll(/^tfd:.* ino:([\da-f]+)/gm)].map(([, inode = ""]) => String(Number.parseInt(inode, 16)));
}
