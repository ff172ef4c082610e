/** Whose runs go on. */
import type { Process } from "../supervisor/process.ts";

/** Ids of processes, by the pids that lead their runs. */
export function leadersOf(processes: readonly Process[]): ReadonlyMap<number, string> {
  const leaders = new Map<number, string>();
  for (const { id, states } of processes)
    for (const state of states) if ("pid" in state && !("ending" in state)) leaders.set(state.pid, id);
  return leaders;
}
