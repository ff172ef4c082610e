// Prints what is not a text of lines, to a standard output that it opens in several ways: `print-odd.mjs COPY MEGABYTES`. COPY gets the same.
import { closeSync, constants, openSync, writeSync } from "node:fs";

const [copyFile, megabytes] = process.argv.slice(2);
const copy = openSync(copyFile, "a");
const PIECE = 4_093;

/** In pieces that end within characters. */
function print(bytes, fd = 1) {
  for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    for (let done = 0; done < piece.length; ) done += writeSync(fd, piece, done);
    writeSync(copy, piece);
  }
}

const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
const NEWLINE = 0x0a;
const binary = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => (index * 31 + (index >> 8)) % 256)).map(
  (byte) => (byte === NEWLINE ? 0 : byte),
);
const utf8 = Buffer.from("ä€😀".repeat(120_000));
const bar = Buffer.from(Array.from({ length: 101 }, (_, percent) => `\r${"#".repeat(percent)} ${percent} %`).join(""));

for (let count = 0; count < Number(megabytes); count += 1) {
  print(binary);
  pause();
}
for (const flags of [constants.O_WRONLY, constants.O_RDWR, constants.O_WRONLY | constants.O_APPEND]) {
  const again = openSync("/dev/stdout", flags);
  for (let count = 0; count < 10; count += 1) {
    for (const bytes of [utf8, bar, binary, Buffer.from("\n\r\n\0\n")]) print(bytes, again);
    pause();
  }
  closeSync(again);
}
print(Buffer.from("\nfinished\n"));
setInterval(() => undefined, 60_000);
