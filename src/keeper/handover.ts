/** What a logger left to its successor. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Begun, type HandoverRecord, handoverFile, handoverOf } from "../contract/logger-protocol.ts";

/** What becomes of the output of a run that loggers before have read. */
export type Handover = (key: string) => "killed" | Begun;

const DRAINED: Begun = { out: "", err: "" };

/** Reads what the loggers of these pids left. The latest of them that knows of a run knows best; a killed one may have read any. */
export function readHandover(home: string, pids: readonly number[]): Handover {
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

/** Removes what loggers left, whole or in the middle of writing it down, but for these, which may be asked for again. */
export function clearHandovers(home: string, kept: Iterable<number>): void {
  const pids = new Set(kept);
  for (const name of namesIn(home)) {
    const pid = handoverOf(name);
    if (pid !== undefined && !pids.has(pid)) rmSync(join(home, name), { force: true });
  }
}

/** None: the state folder was removed. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** undefined: it handed over nothing, as it was killed. */
function recordOf(file: string): HandoverRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as HandoverRecord;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
