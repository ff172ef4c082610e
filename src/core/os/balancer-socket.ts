/** The path of the socket through which the service controls the balancer of a state folder. */
import { lstatSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fingerprint } from "../base/hash.ts";
import { isShort } from "./unix-socket.ts";

const IN_STATE = "/run/balancer.sock";

/** Where the balancer listens: in the run folder. Without /proc, and if that path is too long for a socket, in the folder for temporary files. */
export function balancerSocket(stateDir: string): string {
  const path = join(stateDir, IN_STATE);
  return isShort(path) || process.platform === "linux" ? path : temporarySocket(stateDir);
}

/** The state folder of a balancer, for its title; undefined: the path doesn't tell. */
export function stateDirBy(socket: string): string | undefined {
  return socket.endsWith(IN_STATE) ? socket.slice(0, -IN_STATE.length) : undefined;
}

function temporarySocket(stateDir: string): string {
  return join(tmpdir(), `procman-${userInfo().uid}-${fingerprint(stateDir)}.sock`);
}

/** False if there is no socket, if it belongs to another user, or can't be looked at. Links are not followed. */
export function isOwnSocket(path: string): boolean {
  try {
    const found = lstatSync(path);
    return found.isSocket() && found.uid === userInfo().uid;
  } catch {
    return false;
  }
}
