/** Colours for a terminal; nothing for anything else, or where NO_COLOR is set (no-color.org). */
import type { Status } from "../contract/records.ts";

type Stream = { readonly isTTY?: boolean };

export type Paint = (code: number, text: string) => string;

export function painterFor(stream: Stream, wanted = true): Paint {
  return wanted && stream.isTTY === true && !process.env.NO_COLOR ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_, text) => text;
}

const [RED, GREEN, YELLOW, DIM] = [31, 32, 33, 2];

const STATUS: Readonly<Record<Status, number>> = {
  running: GREEN,
  starting: YELLOW,
  waiting: YELLOW,
  stopping: YELLOW,
  backoff: YELLOW,
  mixed: YELLOW,
  errored: RED,
  exhausted: RED,
  created: DIM,
  stopped: DIM,
  finished: DIM,
};

export function colorOf(status: Status): number {
  return STATUS[status];
}
