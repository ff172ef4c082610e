/** procman's own messages on standard error: written at once, but never waiting for a reader (a stopped terminal, a full pipe). */
import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { asCalled } from "./called-as.ts";
import { isShortage } from "./shortage.ts";

/** The latest lines that could not be written yet; older ones are dropped. */
const MOST_WAITING = 100;
const RETRY_MS = 100;

const waiting: Buffer[] = [];
/** Its own open file, since `O_NONBLOCK` on descriptor 2 would apply to all who share it. undefined: not opened yet. */
let fd: number | undefined;
let retry: NodeJS.Timeout | undefined;

type ErrorSeverity = "error" | "warn";

export function printError(text: string, severity: ErrorSeverity = "error"): void {
  waiting.push(Buffer.from(errorLine(text, severity)));
  if (waiting.length > MOST_WAITING) waiting.shift();
  writeWaiting();
}

/** `procman: TEXT` and a newline; where the console has JSON lines, one of these. */
export function errorLine(written: string, severity: ErrorSeverity = "error"): string {
  const text = asCalled(written);
  if (!isJson()) return `procman: ${text}\n`;
  return `${JSON.stringify({ time: new Date().toISOString(), severity, category: "service", text })}\n`;
}

/** How the console is printed. `file`: it isn't the console but a file for people. */
export type ErrorStyle = { readonly format?: string; readonly file?: string };

/** The style as JSON, for procman's own processes: they need it before the configuration is read, or without it. */
const VARIABLE = "PROCMAN_CONSOLE_STYLE";

/** undefined: not known yet. */
let style = takeStyle();

export function styleSoFar(): ErrorStyle | undefined {
  return style;
}

/** How the console is printed from now on. */
export function printInStyle(known: ErrorStyle): void {
  style = known;
  printNodesOwnInStyle();
}

export function styleVariable(): NodeJS.ProcessEnv {
  return style === undefined ? {} : { [VARIABLE]: JSON.stringify(style) };
}

function takeStyle(): ErrorStyle | undefined {
  const { [VARIABLE]: text } = process.env;
  delete process.env[VARIABLE];
  return text === undefined ? undefined : (JSON.parse(text) as ErrorStyle);
}

/** What a detached procman prints beside its console file is for people. */
function isJson(): boolean {
  return style?.format === "json" && style.file === undefined;
}

/** Node prints an uncaught error and its warnings as text. */
function printNodesOwnInStyle(): void {
  if (!isJson() || process.hasUncaughtExceptionCaptureCallback()) return;
  process.setUncaughtExceptionCaptureCallback((error: unknown) => {
    printError(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exit(1);
  });
  process.removeAllListeners("warning").on("warning", ({ name, message }) => printError(`${name}: ${message}`, "warn"));
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
