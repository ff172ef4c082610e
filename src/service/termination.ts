/** The end of everything as a later service must know it: who is killed in the middle of it has it finished by the next one. */
import { count, optional, record, text } from "../base/shape.ts";

/** No process has an id like this. */
export const TERMINATION = ":terminating";

export type Termination = {
  readonly why: string;
  /** The exit code, where that is known already. */
  readonly code?: number;
};

/** It goes on with a keeper that came by itself in the place of its own. Who runs procman anew wants it to run. */
export function writeTermination(termination: Termination, lineage: string): string {
  return JSON.stringify({ ...termination, lineage });
}

/** undefined: none that is under way. */
export function readTermination(note: string | undefined, lineage: string): Termination | undefined {
  if (note === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(note);
    if (!shape(value) || (value as { readonly lineage: string }).lineage !== lineage) return undefined;
    const { why, code } = value as Termination;
    return { why, ...(code === undefined ? {} : { code }) };
  } catch {
    return undefined;
  }
}

const shape = record({ why: text, code: optional(count), lineage: text });
