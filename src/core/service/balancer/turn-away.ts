/** Helper process: accepts the clients that wait on a shared socket (descriptor 3), closes their connections, and ends. */
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { handleOf } from "../../os/server-handle.ts";

const SHARED_FD = 3;
/** How long it waits for another client, and how long it runs at most. Milliseconds. */
const QUIET_MS = 100;
const LATEST_MS = 1_000;
const O_NONBLOCK = 0o4000;

/** The mode belongs to the socket, which programs with a plain accept() may have too; Node changes it. */
const wasBlocking = !isNonBlocking(readFileSync(`/proc/self/fdinfo/${SHARED_FD}`, "latin1"));
const server = createServer({ pauseOnConnect: true }, (client) => {
  client.on("error", () => undefined);
  client.resetAndDestroy();
  quiet.refresh();
}).listen({ fd: SHARED_FD });

function end(): never {
  if (wasBlocking) handleOf(server).setBlocking(true);
  process.exit(0);
}

const quiet = setTimeout(end, QUIET_MS);
setTimeout(end, LATEST_MS);

function isNonBlocking(info: string): boolean {
  return (Number.parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? "0", 8) & O_NONBLOCK) !== 0;
}
