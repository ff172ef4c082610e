/** While a command waits: an animated line on the terminal (nothing on other outputs), and what a Ctrl-C says. */
import { ProcmanError } from "../../core/base/errors.ts";
import { signalCode } from "../../core/os/signal-name.ts";
import { isJson, jsonLine } from "./error-report.ts";

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;
const FRAME_MS = 80;
/** Shorter waits show nothing. Milliseconds. */
const QUIET_MS = 250;
/** Ctrl-C, and the end of the terminal or its session. */
const LEAVING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type ProgressScreen = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly write: (text: string) => unknown;
};

/** Writes a message; an animated line on the terminal is drawn again below it. */
export function printAbove(message: string, screen: ProgressScreen = process.stderr): void {
  screen.write(screen.isTTY === true ? `\r\u001b[K${message}` : message);
}

/** Shows `text()` until the work is done. */
export async function withProgress<T>(
  text: () => string,
  work: Promise<T>,
  screen: ProgressScreen = process.stderr,
): Promise<T> {
  if (screen.isTTY !== true) return work;
  const began = performance.now();
  const clear = "\r\u001b[K";
  let isShown = false;
  const timer = setInterval(() => {
    const ms = performance.now() - began;
    if (ms < QUIET_MS) return;
    const line = `${FRAMES[Math.floor(ms / FRAME_MS) % FRAMES.length]} ${text()} … ${Math.floor(ms / 1_000)} s`;
    screen.write(`${clear}${line.slice(0, (screen.columns || 80) - 1)}`);
    isShown = true;
  }, FRAME_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    if (isShown) screen.write(clear);
  }
}

type WaitTexts = {
  /** Shown on the terminal. */
  readonly doing: () => string;
  /** What a signal says after "stopped waiting; ": that the action continues, and how to see or end it. */
  readonly continues: () => string;
};

/** Waits for something that procman does anyway: a signal ends only the waiting. */
export function waitFor<T>({ doing, continues }: WaitTexts, work: Promise<T>): Promise<T> {
  return untilLeft(continues, withProgress(doing, work));
}

/** The same without a line of progress. */
export async function untilLeft<T>(continues: WaitTexts["continues"], work: Promise<T>): Promise<T> {
  const leave = (signal: (typeof LEAVING)[number]): void => {
    const message = `stopped waiting; ${continues()}`;
    printAbove(isJson() ? jsonLine(new ProcmanError("interrupted", message)) : `procman: ${message}\n`);
    process.exit(signalCode(signal));
  };
  for (const signal of LEAVING) process.once(signal, leave);
  try {
    return await work;
  } finally {
    for (const signal of LEAVING) process.off(signal, leave);
  }
}

/** A signal aborts the work, which may clean up, and doesn't end the program by itself. */
export async function interruptible<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const abort = new AbortController();
  const leave = (): void => abort.abort();
  for (const signal of LEAVING) process.on(signal, leave);
  try {
    return await work(abort.signal);
  } finally {
    for (const signal of LEAVING) process.off(signal, leave);
  }
}
