// An ordinary server: its port comes from --port, or from PORT.
const { createServer } = require("node:http");

const given = process.argv.indexOf("--port");
const port = Number(given < 0 ? (process.env.PORT ?? 3000) : process.argv[given + 1]);
const server = createServer((_request, response) => response.end(`hello from ${process.pid}\n`));
server.listen(port, "127.0.0.1", () => {
  console.log(`listening on ${port}`);
  process.send?.("ready");
});
