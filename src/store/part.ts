/** Reads a part of a file without holding up anybody. */
import { read } from "node:fs";
import { promisify } from "node:util";

const readAsync = promisify(read);

/** Exactly these bytes of a file. */
export async function readPart(fd: number, at: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await readAsync(fd, buffer, done, bytes - done, at + done);
    if (bytesRead === 0) throw new Error(`the file ends at ${at + done}, before byte ${at + bytes}`);
    done += bytesRead;
  }
  return buffer;
}
