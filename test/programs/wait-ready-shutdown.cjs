// An HTTP server as pm2's users write it: `process.send("ready")` after listen, and the message "shutdown" before it is stopped.
const http = require("node:http");

const server = http.createServer((_request, response) => response.end("hey"));
const begin = () =>
  server.listen(Number(process.env.PORT ?? 0), "127.0.0.1", () => {
    process.send("ready");
    console.log(`sent ready, connected ${process.connected}`);
  });

process.on("message", (message) => {
  console.log(`told ${message}`);
  if (message === "shutdown") server.close(() => process.exit(0));
});
process.on("disconnect", () => console.log("disconnected"));
process.on("SIGUSR2", begin);
console.log(
  `variables ${Object.keys(process.env).filter((name) => /^(?:PROCMAN_NODE|NODE_OPTIONS|NODE_CHANNEL_FD|LISTEN_)/.test(name))}`,
);
// As a program that has work to do before it listens.
if (process.argv[2] === "later") setInterval(() => undefined, 1_000_000);
else begin();
