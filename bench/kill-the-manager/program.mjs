// A process of the load: `program.mjs print|crash|serve FOLDER ID`. It writes the start and the end of each run into a diary.
import { appendFileSync, existsSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { lineOf } from "./lines.mjs";

const [kind, folder, id] = process.argv.slice(2);
/** Unique: a pid may be used again. */
const run = `${process.pid}-${Date.now().toString(36)}`;
let printed = 0;

function note(what, more) {
  appendFileSync(`${folder}/diary.jsonl`, `${JSON.stringify({ what, id, run, pid: process.pid, ...more })}\n`);
}

function end(code, more) {
  note("end", { code, printed, ...more });
  process.exit(code);
}

process.on("SIGTERM", () => end(0, { asked: true }));
note("begin");
// Only one process can have a name in Linux's abstract name space; the kernel frees it when the process ends.
const guard = createServer().on("error", () => note("twice"));
guard.listen(`\0${folder}/${id}`).unref();

if (kind === "crash") setTimeout(() => end(1 + (process.pid % 100)), 300 + Math.random() * 2_000);
if (kind === "serve") serve(`${folder}/${id}.port`);
if (kind === "print") {
  const progress = openSync(`${folder}/progress/${run}`, "w");
  // One prints much at once, the other one little and often.
  const [bytes, pauseMs] = id === "print-1" ? [260_000, 100] : [20_000, 20];
  setInterval(() => printBurst(progress, bytes), pauseMs);
}

/** On the port of its first run: a second copy can't have it, and ends. */
function serve(portFile) {
  const server = createServer((socket) => socket.end(`${process.pid}\n`)).on("error", () => end(98));
  server.listen(existsSync(portFile) ? Number(readFileSync(portFile, "utf8")) : 0, "127.0.0.1");
  server.on("listening", () => writeFileSync(portFile, String(server.address().port)));
}

/** Numbered lines, in one write. If it is killed meanwhile, it has printed at least those before. */
function printBurst(progress, size) {
  let text = "";
  let number = printed;
  while (text.length < size) text += `${lineOf(id, run, ++number)}\n`;
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += write(bytes.subarray(at));
  printed = number;
  writeSync(progress, String(printed).padEnd(16), 0);
}

/** The output may be a non-blocking socket. */
function write(bytes) {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
    return 0;
  }
}
