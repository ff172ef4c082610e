/** The effect of changed watched files on a process. */
import type { SlotState } from "./states.ts";

export type FileChange = {
  /** Paths as shown to users; only the first of very many. */
  readonly files: readonly string[];
  /** Number of changed files. */
  readonly count: number;
  /** When the latest change was reported; monotonic milliseconds. */
  readonly at: number;
};

/** `blocked`: it would start or restart if it weren't blocked. */
export type FileEffect = "restarts" | "starts" | "blocked";

/** `at`: time of the change. `endedAt`: end of the last run, if known. */
type ChangeMoment = { readonly at: number; readonly endedAt: number; readonly blocked: boolean };

/** undefined: no effect. */
export function effectOn(state: SlotState | undefined, { at, endedAt, blocked }: ChangeMoment): FileEffect | undefined {
  const answer = state === undefined ? undefined : answerTo(state, at, endedAt);
  return answer !== undefined && blocked ? "blocked" : answer;
}

function answerTo(state: SlotState, at: number, endedAt: number): "restarts" | "starts" | undefined {
  switch (state.status) {
    case "idle":
      // One that sleeps reads them when it wakes. Files that a process writes while it is being stopped must not start it again.
      return state.outcome.kind !== "asleep" && at > endedAt ? "starts" : undefined;
    case "backoff":
      return "starts";
    case "starting":
      return "restarts";
    case "running":
      // A later run has read the changed files.
      return at > state.since ? "restarts" : undefined;
    case "stopping":
      return state.next === "policy" ? "restarts" : undefined;
    case "waiting":
      return undefined;
    default:
      return state satisfies never;
  }
}
