/** What the end of a run counts as. */
import type { Ending, Fault, Outcome, StopCause } from "./states.ts";

export function isSuccess(ending: Ending): boolean {
  return ending.kind === "exited" && ending.code === 0;
}

export function faultOf(cause: StopCause): Fault | undefined {
  return cause === "operator" || cause === "terminate" || cause === "watch" || cause === "itself" ? undefined : cause;
}

/** Of one that nobody asked to end, but for a fault of its own. */
export function outcomeOf({ ending, fault }: { readonly ending: Ending; readonly fault?: Fault }): Outcome {
  if (fault !== undefined) return { kind: "failed", ending, fault };
  return isSuccess(ending) ? { kind: "finished", ending } : { kind: "failed", ending };
}
