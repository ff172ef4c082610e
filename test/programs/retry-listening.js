/** A server that waits for its port, PORT or that of its instance: while another program holds it, it tries again. Answers each request with its pid. */
import { createServer } from "node:http";

const AGAIN_MS = 50;
const port = Number(process.env.PORT ?? process.env.PROCMAN_CLUSTER_PORT);
const server = createServer((_request, response) => response.setHeader("connection", "close").end(`${process.pid}\n`));
const listen = () => server.listen(port, "127.0.0.1");
server.on("error", () => setTimeout(listen, AGAIN_MS));
listen();
