/** What a change of watched files means for a process. */
import type { Instance } from "./states.ts";

export type FileChange = {
  /** As people are to read them; of very many only the first. */
  readonly files: readonly string[];
  /** How many there are. */
  readonly count: number;
  /** When the latest was heard of; monotonic milliseconds. */
  readonly at: number;
};

/** `blocked`: it would start, or start again, if it were not blocked. */
export type FileEffect = "restarts" | "starts" | "blocked";

/** `at`: of the change. `endedAt`: when its last run was over, as far as that is known. */
type Circumstances = { readonly at: number; readonly endedAt: number; readonly blocked: boolean };

/** undefined: none. */
export function effectOn(state: Instance | undefined, { at, endedAt, blocked }: Circumstances): FileEffect | undefined {
  const answer = state === undefined ? undefined : answerTo(state, at, endedAt);
  return answer !== undefined && blocked ? "blocked" : answer;
}

function answerTo(state: Instance, at: number, endedAt: number): "restarts" | "starts" | undefined {
  switch (state.status) {
    case "idle":
      // What a process writes while it is being stopped must not start it again.
      return at > endedAt ? "starts" : undefined;
    case "backoff":
      return "starts";
    case "starting":
      return "restarts";
    case "running":
      // A run that began later has read the files as they are.
      return at > state.since ? "restarts" : undefined;
    case "stopping":
      return state.next === "policy" ? "restarts" : undefined;
    case "waiting":
      return undefined;
    default:
      return state satisfies never;
  }
}
