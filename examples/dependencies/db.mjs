// A database that takes a second to come up: a list of words over HTTP, on port 7401 of the loopback address.
import { createServer } from "node:http";

const words = [];
const server = createServer((request, response) => {
  if (request.method === "POST") words.push(new URL(request.url, "http://db").searchParams.get("word"));
  response.end(JSON.stringify(words));
});
setTimeout(() => server.listen(7401, "127.0.0.1", () => console.log("accepts connections")), 1_000);
