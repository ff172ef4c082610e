// The raw lines of a log and its rotated files, oldest first.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;

/** `web.log`, preceded by rotated files such as `web.log.20261121T100000000Z.gz`, whose names sort by age. */
export function filesOf(path) {
  const name = basename(path);
  const names = readdirSync(dirname(path)).filter((file) => file === name || file.startsWith(`${name}.`));
  const rotated = names.filter((file) => file !== name).sort();
  return [...rotated, ...names.filter((file) => file === name)].map((file) => join(dirname(path), file));
}

/** Calls `onLine(raw, isWhole)` for each line, as latin1; `isWhole` is false for a last line without newline. */
export function eachLine(path, onLine) {
  let rest = "";
  for (const chunk of chunksOf(path)) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      onLine(rest + chunk.latin1Slice(from, end), true);
      rest = "";
      from = end + 1;
    }
    rest += chunk.latin1Slice(from);
  }
  if (rest !== "") onLine(rest, false);
}

function* chunksOf(path) {
  if (path.endsWith(".gz")) return yield gunzipSync(readFileSync(path));
  const file = openSync(path, "r");
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) yield buffer.subarray(0, read);
  } finally {
    closeSync(file);
  }
}
