/**
 * Answers with its pid on PORT or on the socket that was passed, as the release in `release.json` says, or in RELEASE: it listens
 * after `late` milliseconds, throws after `throws`, ends with code 0 after `ends`, and answers /health with 500 while `sick`.
 */
const { readFileSync } = require("node:fs");
const { createServer } = require("node:http");

const release = () => JSON.parse(process.env.RELEASE ?? readFileSync("release.json", "utf8"));
const { late = 0, throws, ends } = release();
if (ends !== undefined) setTimeout(() => process.exit(0), ends);
if (throws !== undefined)
  setTimeout(() => {
    throw new Error("a bad release");
  }, throws);
const server = createServer(({ url }, response) => {
  response.writeHead(url === "/health" && release().sick ? 500 : 200, { connection: "close" });
  response.end(`${process.pid}\n`);
});
process.once("SIGTERM", () => server.close(() => process.exit()) && server.closeIdleConnections());
setTimeout(() => server.listen(process.env.LISTEN_FDS === "1" ? { fd: 3 } : Number(process.env.PORT)), late);
