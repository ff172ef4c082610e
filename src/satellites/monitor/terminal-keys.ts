/** Keys of a terminal: single ones, as they are pressed. */
import type { ReadStream } from "node:tty";
import { KeyParser, type KeyPress } from "./key-parser.ts";

/** The rest of a key's sequence comes within this time, or it is an Escape. Milliseconds. */
const ESCAPE_MS = 40;

export function readKeys(input: ReadStream, call: (keys: readonly KeyPress[]) => void): void {
  const parser = new KeyParser();
  let lone: NodeJS.Timeout | undefined;
  input.setEncoding("utf8").on("data", (chunk: string) => {
    clearTimeout(lone);
    call(parser.read(chunk));
    if (parser.isBegun) lone = setTimeout(() => call(parser.flush()), ESCAPE_MS);
  });
}

/** Takes the terminal; also again after a suspension, in which another program may have changed it. */
export function takeKeys(input: ReadStream): void {
  // Node skips a mode that it believes to be set.
  input.setRawMode(false);
  input.setRawMode(true);
  input.resume();
}
