/**
 * A process of one deed: opens a listening socket and gives it to the keeper. libuv accepts from whatever it has made listen,
 * so whoever only holds a socket must not have opened it.
 */
import { createServer, type Server } from "node:net";
import { whyNotListening } from "../os/port-holder.ts";
import type { Opened } from "./sockets.ts";

const BACKLOG = 4_096;

type Inner = Server & { readonly _handle: { readonly setBlocking: (isBlocking: boolean) => void } };

const [host = "", port = ""] = process.argv.slice(2);
const server = createServer() as Inner;

/** Written at once; a turn more, and connections would be accepted here. */
function end(answer: Opened, socket?: unknown): never {
  process.send?.(answer, socket as never);
  process.exit(0);
}

server.once("error", ({ code = "", message }: NodeJS.ErrnoException) =>
  end({ code, problem: `Cannot listen on ${host}:${port}: ${whyNotListening(code, Number(port)) ?? message}` }),
);
server.listen({ host, port: Number(port), backlog: BACKLOG, exclusive: true }, () => {
  // As systemd passes it: a plain accept() of a program waits.
  server._handle.setBlocking(true);
  end({}, server._handle);
});
