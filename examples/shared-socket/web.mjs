// Listens on the socket that it shares with the other instances; started by itself, on port 8000.
import { createServer } from "node:http";
import { listen } from "procman/cluster";

const server = createServer((_request, response) => response.end(`hello from ${process.pid}\n`));
listen(server, 8000);
// Others go on accepting; what was asked here is answered.
process.on("SIGTERM", () => server.close());
