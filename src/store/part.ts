/** Reads a part of a file without holding up anybody. */
import { read } from "node:fs";
import { promisify } from "node:util";

const readAsync = promisify(read);

/** These bytes of a file; fewer where it ends before, as when half a record is cut off at this moment. */
export async function readPart(fd: number, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await readAsync(fd, buffer, done, bytes - done, at + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
