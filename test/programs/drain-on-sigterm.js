/**
 * Answers each request with its pid. After SIGTERM it accepts no new connection, ends each
 * open one with the answer to its next request, and exits after the last. Listens after LATE milliseconds, on PORT, or on the socket that was passed.
 * NOTES: a folder; each request's path is written to a file there, named by the pid, as soon as it is read, so that it survives a kill.
 */
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Server } from "node:net";

const port = Number(process.env.PORT ?? process.env.PROCMAN_CLUSTER_PORT);
const notes = process.env.NOTES === undefined ? undefined : openSync(`${process.env.NOTES}/${process.pid}`, "a");
let isStopping = false;
const server = createServer((request, response) => {
  if (notes !== undefined) writeSync(notes, `${request.url}\n`);
  if (isStopping) response.setHeader("connection", "close");
  request.resume().on("end", () => response.end(`${process.pid}\n`));
});
server.keepAliveTimeout = 600_000;
process.on("SIGTERM", () => {
  isStopping = true;
  // `close` of http would end connections with a request in progress.
  Server.prototype.close.call(server, () => process.exit(0));
});
const place = process.env.LISTEN_FDS === "1" ? { fd: 3 } : { port, host: "127.0.0.1" };
setTimeout(() => server.listen(place), Number(process.env.LATE ?? 0));
