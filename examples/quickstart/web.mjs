// A small web server. PORT comes from the configuration.
import { createServer } from "node:http";

const port = Number(process.env.PORT ?? 8080);
const server = createServer((request, response) => {
  console.log(`${request.method} ${request.url}`);
  response.end(`Hello from process ${process.pid}\n`);
});
server.listen(port, "127.0.0.1", () => console.log(`listening on http://127.0.0.1:${port}`));

// procman stops a process with SIGTERM: finish open requests, then end.
process.on("SIGTERM", () => server.close(() => process.exit(0)));
