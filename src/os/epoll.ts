/** Which sockets programs wait for by epoll(7), from /proc (Linux). */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { allListeners } from "./listening-ports.ts";
import { allProcesses } from "./process-stat.ts";
import { unlessShort } from "./shortage.ts";

const EPOLL = "anon_inode:[eventpoll]";

/**
 * Whether a run waits for connections on a listening port: its leader, or another member of its session. undefined: unknown, because
 * none of them uses epoll.
 */
export function waitsForConnections(leader: number, port: number): boolean | undefined {
  return unlessShort(() => {
    const inodes = new Set(allListeners().flatMap((listener) => (listener.port === port ? [listener.inode] : [])));
    const members = allProcesses().filter(({ pid, session }) => pid === leader || session === leader);
    const watched = members.flatMap(({ pid }) => epollsOf(pid));
    return watched.length === 0 ? undefined : watched.some((each) => each.some((inode) => inodes.has(inode)));
  });
}

/** The inodes that each epoll instance of the process watches. */
function epollsOf(pid: number): readonly (readonly string[])[] {
  const folder = `/proc/${pid}`;
  try {
    return readdirSync(`${folder}/fd`)
      .filter((fd) => targetOf(`${folder}/fd/${fd}`) === EPOLL)
      .map((fd) => watchedInodes(readFileSync(`${folder}/fdinfo/${fd}`, "latin1")));
  } catch {
    // It has ended, or belongs to another user.
    return [];
  }
}

function watchedInodes(info: string): readonly string[] {
  return [...info.matchAll(/^tfd:.* ino:([\da-f]+)/gm)].map(([, inode = ""]) => String(Number.parseInt(inode, 16)));
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    // It was closed meanwhile.
    return "";
  }
}
