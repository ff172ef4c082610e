// Answers each connection with its pid: `server.mjs FOLDER ID PORT`.
import { createServer } from "node:net";
import { Instance } from "./instance.mjs";

const [folder, id, port] = process.argv.slice(2);
const instance = new Instance(folder, id);
createServer((socket) => socket.end(`${process.pid}\n`))
  .on("error", (error) => instance.end(error.code === "EADDRINUSE" ? 98 : 99))
  .listen(Number(port), "127.0.0.1");
