/** Speaks first, as SMTP does: a greeting to each client, then an answer to each line. Listens after LATE milliseconds, on PORT. */
import { createServer } from "node:net";

const server = createServer((client) => {
  client.on("error", () => client.destroy());
  client.write("220 ready\r\n");
  client.on("data", () => client.write("250 ok\r\n"));
});
setTimeout(() => server.listen(Number(process.env.PORT), "127.0.0.1"), Number(process.env.LATE ?? 0));
