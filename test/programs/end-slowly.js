/** Answers each request with its pid, also for half a second after SIGTERM: `end-slowly.js PORT`. */
import { createServer } from "node:http";

createServer((_request, response) => response.end(`${process.pid}\n`)).listen(Number(process.argv[2]), "127.0.0.1");
process.on("SIGTERM", () => setTimeout(() => process.exit(), 500));
