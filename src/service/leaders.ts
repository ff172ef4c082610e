/** Whose runs go on. */
import type { Process } from "../supervisor/process.ts";

/** Ids of processes, by the pids that lead their runs. */
export function leadersOf(processes: readonly Process[]): ReadonlyMap<number, string> {
  return new Map(
    processes.flatMap(({ id, states }) =>
      states.flatMap((state) => ("pid" in state && !("ending" in state) ? [[state.pid, id] as const] : [])),
    ),
  );
}
