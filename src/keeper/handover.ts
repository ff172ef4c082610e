/** What a logger left to its successor. */
import { readFileSync, rmSync } from "node:fs";
import { type Begun, type HandoverRecord, handoverFile } from "../contract/logger-protocol.ts";

/** What becomes of the output of a run that a logger before has read. */
export type Handover = (key: string) => "killed" | Begun;

/** It handed over nothing: it was killed. */
const KILLED: Handover = () => "killed";

const DRAINED: Begun = { out: "", err: "" };

/** Reads and removes what the logger of this pid left. */
export function takeHandover(home: string, pid: number | undefined): Handover {
  if (pid === undefined) return KILLED;
  const file = handoverFile(home, pid);
  try {
    const { captures } = JSON.parse(readFileSync(file, "utf8")) as HandoverRecord;
    rmSync(file);
    return (key) => captures[key] ?? DRAINED;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return KILLED;
    throw error;
  }
}
