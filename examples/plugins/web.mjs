// A server that is sometimes slow, and logs how long each request took.
import { createServer } from "node:http";

const server = createServer((_request, response) => response.end("hello\n"));
server.listen(0, "127.0.0.1");
setInterval(() => console.log(`GET / took ${Math.round(Math.random() * 100)} ms`), 500);
