/** Answers each request with its pid, on PORT or the port of its instance. While another program holds the port it retries. */
import { createServer } from "node:http";

const AGAIN_MS = 50;
const port = Number(process.env.PORT ?? process.env.PROCMAN_CLUSTER_PORT);
const server = createServer((_request, response) => response.setHeader("connection", "close").end(`${process.pid}\n`));
const listen = () => server.listen(port, "127.0.0.1");
server.on("error", () => setTimeout(listen, AGAIN_MS));
listen();
