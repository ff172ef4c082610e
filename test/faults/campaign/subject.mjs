// A process of the campaign: `subject.mjs FOLDER ID [NAME=VALUE …]`. What it does follows from its options, all of which may be combined:
//   lines=N       prints N numbered lines every `pause` ms;  to=2: to standard error
//   ready=log|fd|message|PORT   says that it is ready; log: by its fifth line; PORT: by listening there
//   serve=1       answers HTTP with its pid, on the port or the socket of its cluster, until its last connection ends
//   lives=A-B     ends after A to B ms, with a code that follows from its pid
//   child=1       leaves a child behind
//   eat=MB        needs so much memory
//   reads=1       writes what it reads into the file of its run in `read`
import { spawn } from "node:child_process";
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Server } from "node:net";
import { join } from "node:path";
import { lineOf } from "../../programs/numbered-lines.mjs";
import { Instance } from "../../programs/run-diary.mjs";

const [folder, name, ...options] = process.argv.slice(2);
const {
  lines,
  pause = 200,
  to = 1,
  ready,
  serve,
  lives,
  child,
  eat,
  reads,
} = Object.fromEntries(options.map((each) => each.split("=")));
const { PROCMAN_CLUSTER_INSTANCE: number, TEXT, FROM_FILE, SECRET, SECRET_FILE } = process.env;
// The variable counts from 0, the ids of instances from 1.
const id = number === undefined ? name : `${name}-${Number(number) + 1}`;
const instance = new Instance(folder, id);
let printed = 0;
instance.last = () => ({ printed });
instance.note("seen", { values: { TEXT, FROM_FILE, SECRET, SECRET_FILE } });
process.on("message", (message) => message === "drain" && instance.end(0, { asked: true }));
const eaten = [];
if (child !== undefined) spawn("sleep", ["1000"], { stdio: "ignore" });
if (lines !== undefined) print(openSync(join(folder, "progress", instance.run), "w"));
if (reads !== undefined) read(openSync(join(folder, "read", instance.run), "a"));
if (eat !== undefined) setTimeout(() => eaten.push(Buffer.alloc(Number(eat) * 1e6, 1)), 500);
if (serve !== undefined || Number(ready) > 0) listen();
else if (ready === "fd" || ready === "message") setTimeout(sayReady, 100);
if (lives !== undefined)
  setTimeout(() => instance.end(1 + (process.pid % 100)), lifetime(...lives.split("-").map(Number)));
setInterval(() => eaten.length, 60_000);

function lifetime(shortest, longest) {
  return shortest + Math.random() * (longest - shortest);
}

function print(progress) {
  for (let count = 0; count < Number(lines); count += 1) {
    const line = Buffer.from(`${lineOf(id, instance.run, printed + 1)}\n`);
    for (let at = 0; at < line.length; ) at += writeSync(Number(to), line, at);
    printed += 1;
    if (ready === "log" && printed === 5) instance.note("ready");
  }
  // If it is killed, it has printed at least this many lines.
  writeSync(progress, String(printed).padEnd(16), 0);
  setTimeout(() => print(progress), Number(pause));
}

function read(file) {
  process.stdin.on("data", (data) => writeSync(file, data));
}

function listen() {
  const server = createServer((request, response) =>
    request.resume().on("end", () => response.end(`${process.pid}\n`)),
  );
  const { LISTEN_FDS, PORT, PROCMAN_CLUSTER_PORT } = process.env;
  server.on("error", (error) => instance.end(error.code === "EADDRINUSE" ? 98 : 99));
  server.listen(
    LISTEN_FDS === "1" ? { fd: 3 } : { port: Number(PORT ?? PROCMAN_CLUSTER_PORT ?? ready), host: "127.0.0.1" },
    sayReady,
  );
  process.removeAllListeners("SIGTERM");
  process.on("SIGTERM", () => Server.prototype.close.call(server, () => instance.end(0, { asked: true })));
}

function sayReady() {
  instance.note("ready");
  if (ready === "fd") writeSync(3, "ready\n");
  if (ready === "message" && process.connected) process.send("ready");
}
