/** The procman that runs what `dev` shows. Its console are lines of JSON, which `dev` gets by pipes. */
import { join } from "node:path";
import type { Readable } from "node:stream";
import { packageRoot } from "../../client/connection/package-root.ts";
import type { LogEntry } from "../../core/contract/records.ts";
import { NO_DEBUGGER } from "../../core/os/no-debugger.ts";
import { ownIdentity } from "../../core/os/process-stat.ts";

export type DevKeeper = {
  readonly pid: number | undefined;
  /** Whether this very keeper has ended; another one may have taken over. */
  readonly hasExited: () => boolean;
  /** Its exit code, after its last line; undefined: it was killed, and another keeper has ended since. */
  readonly ended: Promise<number | undefined>;
  /** Called for each line of the console; until then they wait in the pipes. */
  readonly read: (onEntry: (entry: LogEntry) => void) => void;
  /** Its lines wait in the pipes, and then in procman. */
  readonly pause: () => void;
  readonly resume: () => void;
};

/** `args`: those of `run` that differ. */
export function startKeeper(args: readonly string[]): DevKeeper {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const own = ["--console", "--watch-config", `--with-parent=${ownIdentity()}`];
  // Its own session: Ctrl-C at the terminal doesn't reach it.
  const child = spawn(
    process.execPath,
    [NO_DEBUGGER, join(packageRoot(), "dist/procman.cjs"), "run", ...own, ...args],
    { detached: true, stdio: ["ignore", "pipe", "pipe"] },
  );
  const streams = [child.stdout, child.stderr];
  const ended = new Promise<number | undefined>((done, fail) => {
    // Once nobody writes into the pipes any more.
    child.once("close", (code) => done(code ?? undefined));
    child.once("error", fail);
  });
  return {
    pid: child.pid,
    hasExited: () => child.exitCode !== null || child.signalCode !== null,
    ended,
    read: (onEntry) => {
      for (const stream of streams) onLines(stream, (line) => onEntry(entryOf(line)));
    },
    pause: () => {
      for (const stream of streams) stream.pause();
    },
    resume: () => {
      for (const stream of streams) stream.resume();
    },
  };
}

function onLines(stream: Readable, call: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) call(line);
  });
  stream.on("end", () => {
    if (rest !== "") call(rest);
  });
}

/** Before the console has its style, and where Node itself prints, lines are text. */
export function entryOf(line: string): LogEntry {
  try {
    if (line.startsWith('{"time":')) return JSON.parse(line) as LogEntry;
  } catch (error) {
    // The writer was killed amid the line.
    if (!(error instanceof SyntaxError)) throw error;
  }
  const text = line.replace(/^procman: /, "");
  return { time: new Date().toISOString(), severity: "error", category: "service", text };
}
