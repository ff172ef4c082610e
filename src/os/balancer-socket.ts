/** The path of the socket through which the service controls the balancer of a state folder. */
import { statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fingerprint } from "../base/hash.ts";

/** Longest path of a Unix socket: 103 bytes and a NUL on macOS, 107 and a NUL on Linux (unix(7)). */
const MAX_BYTES = 103;

/** In the run folder, or in the folder for temporary files if that path is too long for a socket. */
export function balancerSocket(stateDir: string): string {
  const path = join(stateDir, "run", "balancer.sock");
  return Buffer.byteLength(path) <= MAX_BYTES ? path : join(tmpdir(), `procman-${userInfo().uid}-${fingerprint(stateDir)}.sock`);
}

/** False if there is no socket, or if it belongs to another user. */
export function isOwnSocket(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === userInfo().uid;
}
