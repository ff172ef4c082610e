/** procman's own messages on standard error: written at once, but never waiting for a reader (a stopped terminal, a full pipe). */
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { isShortage } from "./shortage.ts";

/** The latest lines that could not be written yet; older ones are dropped. */
const MOST_WAITING = 100;
const RETRY_MS = 100;

const waiting: Buffer[] = [];
/** Its own open file, since `O_NONBLOCK` on descriptor 2 would apply to all who share it. undefined: not opened yet. */
let fd: number | undefined;
let retry: NodeJS.Timeout | undefined;

/** Writes `procman: TEXT` and a newline. */
export function printError(text: string): void {
  printErrorLine(`procman: ${text}`);
}

/** How the console is printed. `file`: it isn't the console but a file for people. */
export type WarningStyle = { readonly format?: string | undefined; readonly file?: string | undefined };

/** Like `printError`; on a console of JSON lines as one of these. */
export function printWarning(text: string, { format, file }: WarningStyle): void {
  if (format !== "json" || file !== undefined) return printError(text);
  printErrorLine(JSON.stringify({ time: new Date().toISOString(), severity: "warn", category: "service", text }));
}

function printErrorLine(line: string): void {
  waiting.push(Buffer.from(`${line}\n`));
  if (waiting.length > MOST_WAITING) waiting.shift();
  writeWaiting();
}

function writeWaiting(): void {
  clearTimeout(retry);
  while (waiting[0] !== undefined) {
    const rest = writeNow(waiting[0]);
    if (rest.length === 0) waiting.shift();
    else {
      waiting[0] = rest;
      retry = setTimeout(writeWaiting, RETRY_MS).unref();
      return;
    }
  }
}

/** What could not be written yet. */
function writeNow(bytes: Buffer): Buffer {
  fd ??= openOwn();
  try {
    return bytes.subarray(writeSync(fd, bytes));
  } catch (error) {
    // Otherwise the reader is gone, and the message with it.
    return isShortage(error) ? bytes : Buffer.alloc(0);
  }
}

/** A file takes everything at once; a socket can't be opened again. */
function openOwn(): number {
  try {
    const stat = fstatSync(2);
    if (stat.isFIFO() || stat.isCharacterDevice())
      return openSync("/dev/stderr", constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // For example another user's terminal: then the shared descriptor is used, which may wait.
  }
  return 2;
}
