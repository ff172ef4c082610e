// Listens on the socket that all instances share; without procman, on port 8000.
import { createServer } from "node:http";
import { listen } from "procman/cluster";

const server = createServer((_request, response) => response.end(`hello from ${process.pid}\n`));
listen(server, 8000);
// The other instances keep accepting; open requests are answered here.
process.on("SIGTERM", () => server.close());
