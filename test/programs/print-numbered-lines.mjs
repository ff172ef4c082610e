// Prints numbered lines in bursts, as fast as they are read, until it is stopped: `print-numbered-lines.mjs FOLDER ID [BURST_BYTES] [PAUSE_MS]`.
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lineOf } from "./numbered-lines.mjs";
import { Instance, monotonicMs } from "./run-diary.mjs";

const [folder, id, burst = "262144", pause = "40"] = process.argv.slice(2);
const BATCH_BYTES = 32 * 1024;
const instance = new Instance(folder, id);
const progress = openSync(join(folder, "progress", instance.run), "w");
let printed = 0;
/** Duration of the longest write: a full pipe blocks its writer. */
let longest = 0;
instance.last = () => ({ printed, longest: Math.round(longest) });

for (;;) {
  for (let bytes = 0; bytes < Number(burst); ) bytes += printBatch();
  await sleep(Number(pause));
}

function printBatch() {
  const lines = [];
  let bytes = 0;
  let number = printed;
  while (bytes < BATCH_BYTES) {
    number += 1;
    const line = Buffer.from(`${lineOf(id, instance.run, number)}\n`);
    lines.push(line);
    bytes += line.length;
  }
  put(Buffer.concat(lines));
  printed = number;
  // If it is killed within a batch, it has printed at least this many lines.
  writeSync(progress, String(printed).padEnd(16), 0);
  return bytes;
}

function put(bytes) {
  const before = monotonicMs();
  for (let at = 0; at < bytes.length; ) at += write(bytes, at);
  longest = Math.max(longest, monotonicMs() - before);
}

/** Some managers use non-blocking sockets for the output. */
function write(bytes, at) {
  try {
    return writeSync(1, bytes, at);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}
