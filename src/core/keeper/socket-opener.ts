/**
 * Helper process: opens a listening socket, sends it to the keeper and ends. libuv accepts connections from every
 * socket that it has opened, so the keeper, which only holds the socket, must not open it itself.
 */
import { createServer } from "node:net";
import { CAN_REOPEN } from "../os/inherited-sockets.ts";
import { isHeldBy, whyNotListening } from "../os/port-owner.ts";
import { handleOf } from "../os/server-handle.ts";
import type { OpenedSocket } from "./listening-sockets.ts";

const BACKLOG = 4_096;
/** The load balancer may be about to close this port. Milliseconds. */
const PATIENCE_MS = 500;
const RETRY_MS = 20;

/** `leaders`: pids of the keeper's runs; 1.0.0 passes none. */
const [host = "", port = "", leaders] = process.argv.slice(2);
const sessions = new Set(leaders?.split(",").map(Number));
const server = createServer();

/** Sent at once: one turn of the event loop later, connections would be accepted here. */
function end(answer: OpenedSocket, socket?: unknown): never {
  process.send?.(answer, socket as never);
  process.exit(0);
}

const patience = performance.now() + PATIENCE_MS;
const listen = (): void => {
  // Beside instances that have a socket which no keeper has any more; never beside another program.
  const reusePort = CAN_REOPEN && leaders !== undefined && isHeldBy(sessions, Number(port));
  const options = { host, port: Number(port), backlog: BACKLOG, exclusive: true, reusePort };
  server.listen(options);
};

server.on("error", ({ code = "", message }: NodeJS.ErrnoException) => {
  if (code === "EADDRINUSE" && performance.now() < patience) setTimeout(listen, RETRY_MS);
  else end({ code, problem: `Cannot listen on ${host}:${port}: ${whyNotListening(code, Number(port)) ?? message}` });
});
server.once("listening", () => {
  try {
    const handle = handleOf(server);
    // As systemd passes it: a program's accept() blocks.
    handle.setBlocking(true);
    end({}, handle);
  } catch (error) {
    end({ code: "ENOTSUP", problem: `Cannot share ${host}:${port}: ${(error as Error).message}` });
  }
});
listen();
