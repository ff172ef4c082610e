// A process of the load: `program.mjs print|serve|crash DIARY ID`. It writes its start and its end to the diary.
import { appendFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";

/** What follows from its number can be checked. */
export function lineOf(number) {
  return `${number} ${"grüße aus köln 🚀 ".repeat(number % 23)}#${number % 97}.`;
}

const [kind, diary, id] = process.argv.slice(2);
let printed = 0;

function note(what, code) {
  appendFileSync(diary, `${JSON.stringify({ what, id, pid: process.pid, code, printed })}\n`);
}

function end(code) {
  note("end", code);
  process.exit(code);
}

function print() {
  let text = "";
  while (text.length < 50_000) text += `${lineOf(++printed)}\n`;
  for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest));
}

if (diary !== undefined) {
  process.on("SIGTERM", () => end(0));
  note("start");
  if (kind === "print") setInterval(print, 50);
  if (kind === "serve") createServer((socket) => socket.end("hello\n")).listen(0, "127.0.0.1");
  if (kind === "crash") setTimeout(end, 300 + Math.random() * 2_000, 1 + (process.pid % 100));
}
