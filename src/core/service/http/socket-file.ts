/** The file of a listening Unix socket. */
import { chmodSync, chownSync, renameSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { shortened } from "../../os/unix-socket.ts";

export type SocketFile = {
  readonly path: string;
  /** Where it is made: in a folder of the same file system that other users may not enter. */
  readonly madeAt: string;
  readonly mode: number;
  /** Default: that of procman. */
  readonly gid?: number;
};

/** Listens in place of the socket of an earlier service: clients find that one, or this one with its rights. */
export async function listenAt(server: Server, { path, madeAt, mode, gid }: SocketFile): Promise<void> {
  rmSync(madeAt, { force: true });
  const short = shortened(madeAt);
  await new Promise<void>((resolve, reject) => {
    // Also for later errors, such as a failed accept, which would end the service.
    server.on("error", reject);
    server.listen(short.path, resolve);
  }).finally(short.release);
  try {
    if (gid !== undefined) chownSync(madeAt, process.geteuid?.() ?? -1, gid);
    chmodSync(madeAt, mode);
    renameSync(madeAt, path);
  } catch (error) {
    server.close();
    rmSync(madeAt, { force: true });
    throw error;
  }
}
