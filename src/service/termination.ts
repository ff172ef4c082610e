/** The end of everything as a later service must know it: who is killed in the middle of it has it finished by the next one. */
import { count, optional, record, text } from "../base/shape.ts";
import { processStat } from "../os/process-stat.ts";

/** No process has an id like this. */
export const TERMINATION = ":terminating";

export type Termination = {
  readonly why: string;
  /** The exit code, where that is known already. */
  readonly code?: number;
};

/** It ends with its keeper: who runs procman anew wants it to run. */
export function writeTermination(termination: Termination, keeper: number): string {
  return JSON.stringify({ ...termination, keeper: identityOf(keeper) });
}

/** undefined: none that is under way. */
export function readTermination(note: string | undefined, keeper: number): Termination | undefined {
  if (note === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(note);
    if (!shape(value) || (value as { readonly keeper: string }).keeper !== identityOf(keeper)) return undefined;
    const { why, code } = value as Termination;
    return { why, ...(code === undefined ? {} : { code }) };
  } catch {
    return undefined;
  }
}

const shape = record({ why: text, code: optional(count), keeper: text });

/** A pid alone may be somebody else's, and is the same after each start of a container. */
function identityOf(keeper: number): string {
  return `${keeper} ${processStat(keeper)?.startTime ?? ""}`;
}
