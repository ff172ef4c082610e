// A syslog server that prints what it receives, to try things out.
import { createServer } from "node:net";

createServer((socket) =>
  socket.on("error", () => undefined).on("data", (data) => process.stdout.write(`${data}\n`)),
).listen(6601, "127.0.0.1");
