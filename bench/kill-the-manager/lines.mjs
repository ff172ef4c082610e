// Numbered lines of known content: `program.mjs` prints them, and `countLines` finds those that are missing, doubled or damaged.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** procman writes it where a killed logger may have lost what it had read. */
const MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";
/** With the lines that are cut before and after it. Bytes. */
const MOST_LOST = 64 * 1024 + 1_000;

/** `run`: unique name of a run of the process `id`. */
export function lineOf(id, run, number) {
  return `${id} ${run} ${number} ${"grüße aus köln 🚀 ".repeat(number % 23)}#${number % 97}.`;
}

/** `runs`: those that wrote to this log, each with the least number of lines that it has `printed`. */
export async function countLines(file, runs) {
  const count = { lines: 0, bytes: 0, missing: 0, doubled: 0, damaged: 0, marked: 0 };
  const seen = new Map(runs.map((each) => [each.run, { ...each, next: 1, excusedBytes: 0 }]));
  const marks = new Set();
  const pieces = [];
  let at = 0;
  for await (const text of createInterface({ input: createReadStream(file) })) {
    at += 1;
    count.bytes += Buffer.byteLength(text) + 1;
    const [id, name, number] = text.split(" ");
    const isWhole = seen.has(name) && text === lineOf(id, name, Number(number));
    if (isWhole) takeLine(count, seen.get(name), Number(number));
    else if (text === MARK) marks.add(at);
    else pieces.push(at);
    if (text === MARK) for (const run of seen.values()) run.excusedBytes += MOST_LOST;
  }
  for (const run of seen.values()) takeGap(count, run, run.printed + 1);
  // Beside a mark stand the beginning of the line that a killed logger wrote, and the end of the last one that it had read.
  count.damaged = pieces.filter((piece) => !marks.has(piece - 1) && !marks.has(piece + 1)).length;
  return count;
}

function takeLine(count, run, number) {
  count.lines += 1;
  if (number < run.next) count.doubled += 1;
  else takeGap(count, run, number);
  run.next = Math.max(run.next, number + 1);
  run.excusedBytes = 0;
}

/** The lines from the next one on until before `number` are missing, unless marks excuse so much. */
function takeGap(count, { id, run, next, excusedBytes }, number) {
  let bytes = 0;
  for (let each = next; each < number; each += 1) bytes += Buffer.byteLength(lineOf(id, run, each)) + 1;
  if (bytes <= excusedBytes) count.marked += bytes;
  else count.missing += number - next;
}
