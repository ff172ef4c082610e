/** The error for an id that nobody has. */
import { ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";

/** `ids`: those that there are. */
export function unknownProcess(id: string, ids: readonly string[]): ProcmanError {
  return new ProcmanError("process-unknown", `Cannot find process ${shortened(id)}: there is none of this id.${didYouMean(id, ids)}`);
}

function shortened(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}
