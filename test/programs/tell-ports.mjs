/** Listens on PORT, and answers each request with its pid, its port and what PEER says, as JSON. */
import { createServer } from "node:http";

const { PORT, PEER } = process.env;
const answer = JSON.stringify({ pid: process.pid, port: Number(PORT), peer: PEER });
createServer((_request, response) => response.end(answer)).listen(Number(PORT), "127.0.0.1");
