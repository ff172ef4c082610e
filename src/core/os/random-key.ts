/** Random bytes from the kernel, without the milliseconds that loading `node:crypto` takes. */
import { closeSync, openSync, readSync } from "node:fs";

/** As hexadecimal digits, two for each byte. */
export function randomHex(bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  const fd = openSync("/dev/urandom", "r");
  try {
    readSync(fd, buffer);
  } finally {
    closeSync(fd);
  }
  return buffer.toString("hex");
}
