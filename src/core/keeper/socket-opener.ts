/**
 * Helper process: opens a listening socket, sends it to the keeper and ends. libuv accepts connections from every
 * socket that it has opened, so the keeper, which only holds the socket, must not open it itself.
 */
import { createServer } from "node:net";
import { whyNotListening } from "../os/port-owner.ts";
import { handleOf } from "../os/server-handle.ts";
import type { OpenedSocket } from "./listening-sockets.ts";

const BACKLOG = 4_096;
/** The load balancer may be about to close this port. Milliseconds. */
const PATIENCE_MS = 500;
const RETRY_MS = 20;

const [host = "", port = ""] = process.argv.slice(2);
const server = createServer();

/** Sent at once: one turn of the event loop later, connections would be accepted here. */
function end(answer: OpenedSocket, socket?: unknown): never {
  process.send?.(answer, socket as never);
  process.exit(0);
}

const patience = performance.now() + PATIENCE_MS;
const listen = (): void => void server.listen({ host, port: Number(port), backlog: BACKLOG, exclusive: true });

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
