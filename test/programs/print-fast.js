/**
 * Prints numbered lines as fast as they are read, then their number: `print-fast.js NAME OUT ERR [FILE]`.
 * OUT and ERR: numbers of lines for standard output and error. FILE: prints until that file is gone instead.
 */
import { existsSync, writeSync } from "node:fs";

const [, , name, outLines, errLines, file] = process.argv;
const FILLING = "x".repeat(80);

function put(fd, text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function stream(fd, word, limit, batch) {
  let count = 0;
  return {
    get isDone() {
      return count >= limit;
    },
    more() {
      const lines = [];
      for (let left = Math.min(batch, limit - count); left > 0; left -= 1) {
        count += 1;
        lines.push(`${name} ${word} ${count} ${FILLING}.\n`);
      }
      if (lines.length > 0) put(fd, lines.join(""));
    },
    end() {
      if (count > 0) put(fd, `${name} ${word} end ${count}\n`);
    },
  };
}

const isEndless = file !== undefined;
const out = stream(1, "out", isEndless ? Number.POSITIVE_INFINITY : Number(outLines), 500);
const err = stream(2, "err", isEndless ? Number.POSITIVE_INFINITY : Number(errLines), 100);
while (isEndless ? existsSync(file) : !out.isDone || !err.isDone) {
  out.more();
  err.more();
}
out.end();
err.end();
