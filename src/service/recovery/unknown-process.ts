/** The error for an unknown id. */
import { ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";

/** `ids`: the known ids. */
export function unknownProcess(id: string, ids: readonly string[]): ProcmanError {
  return new ProcmanError("process-unknown", `Cannot find process ${shortened(id)}: no process has this id.${didYouMean(id, ids)}`);
}

function shortened(id: string): string {
  return JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
}
