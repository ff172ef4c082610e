/** What a logger left to its successor. */
import { readFileSync, rmSync } from "node:fs";
import { type Begun, type HandoverRecord, handoverFile } from "../contract/logger-protocol.ts";

/** What becomes of the output of a run that loggers before have read. */
export type Handover = (key: string) => "killed" | Begun;

const DRAINED: Begun = { out: "", err: "" };

/** Reads and removes what the loggers of these pids left. The latest of them that knows of a run knows best; a killed one may have read any. */
export function takeHandover(home: string, pids: readonly number[]): Handover {
  if (pids.length === 0) return () => "killed";
  const records = pids.toReversed().map((pid) => recordOf(handoverFile(home, pid)));
  return (key) => {
    for (const record of records) {
      const left = record === undefined ? "killed" : record.captures[key];
      if (left !== undefined) return left;
    }
    return DRAINED;
  };
}

/** undefined: it handed over nothing, as it was killed. */
function recordOf(file: string): HandoverRecord | undefined {
  // What one leaves that was killed in the middle of writing it down.
  rmSync(`${file}.tmp`, { force: true });
  try {
    const record = JSON.parse(readFileSync(file, "utf8")) as HandoverRecord;
    rmSync(file);
    return record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
