/** Answers each request with its pid: `answer-with-pid.js PORT`. */
import { createServer } from "node:http";

createServer((_request, response) => response.end(`${process.pid}\n`)).listen(
  Number(process.argv[2]),
  "127.0.0.1",
  () => console.log(`listens as ${process.pid}`),
);
