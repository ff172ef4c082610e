/** Where the balancer of a state folder is spoken to. */
import { statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { fingerprint } from "../base/fingerprint.ts";

/** The kernel has room for so many bytes (104 on macOS, 108 on Linux: unix(7)). */
const MOST_BYTES = 103;

/** In the run folder; where its path is too long for a socket, in the folder for temporary files. */
export function balancerSocket(stateDir: string): string {
  const path = join(stateDir, "run", "balancer.sock");
  return Buffer.byteLength(path) <= MOST_BYTES ? path : join(tmpdir(), `procman-${userInfo().uid}-${fingerprint(stateDir)}.sock`);
}

/** False: somebody else has put it there, or nobody. */
export function isOwnSocket(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === userInfo().uid;
}
