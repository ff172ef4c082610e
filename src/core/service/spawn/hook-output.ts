/** Passes the lines of a hook to the log at a bounded pace: a hook that prints without end waits, and delays nobody else. */
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { lineWriter } from "../../plugins/log-limiter.ts";

/** Lines that are passed at once, and the pause behind them. Milliseconds. */
const BATCH = 100;
const PAUSE_MS = 20;

export type PassedOutput = {
  /** Resolves when all lines that have been read are passed. */
  readonly passed: () => Promise<void>;
  /** Ends it: what is begun is passed, too, and what is still waiting is counted. */
  readonly end: () => void;
};

/** `commit`: resolves when the keeper has the lines. */
export function passLines(stream: Readable, line: (text: string) => void, commit: () => Promise<void>): PassedOutput {
  const waiting: string[] = [];
  const write = lineWriter((text) => text !== "" && waiting.push(text));
  let passing = Promise.resolve();
  const pass = async (): Promise<void> => {
    while (waiting.length > 0) {
      for (const text of waiting.splice(0, BATCH)) line(text);
      await commit();
      if (waiting.length > 0) await sleep(PAUSE_MS, undefined, { ref: false });
    }
    stream.resume();
  };
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    write(chunk);
    stream.pause();
    passing = passing.then(pass);
  });
  return {
    passed: () => passing,
    end: () => {
      stream.destroy();
      write("\n");
      for (const text of waiting.splice(0, BATCH)) line(text);
      if (waiting.length > 0)
        line(`${waiting.length} lines are missing: they were printed faster than they can be logged`);
      waiting.length = 0;
    },
  };
}
