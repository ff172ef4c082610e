// Shows the contents of the database, on port 7400.
import { createServer } from "node:http";

createServer(async (_request, response) => {
  const words = await (await fetch("http://127.0.0.1:7401/")).json();
  response.end(`${words.join(", ")}\n`);
}).listen(7400, "127.0.0.1", () => console.log("curl http://127.0.0.1:7400"));
