/** Restores the state that was recovered: each process in its state, by the configuration that it was started by, which `specs` has. */
import type { Config } from "../../config/spec.ts";
import { info, type LogLine, warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";
import { definitionOf, processOf } from "../spec-registry.ts";
import type { RecoveredState } from "./reconcile.ts";

export function restore(
  recovered: RecoveredState,
  config: Config,
  { supervisor, link, log, specs }: Pick<Services, "supervisor" | "link" | "log" | "specs">,
  spawner: Pick<KeeperSpawner, "remember" | "kill">,
): void {
  const { previous, snapshots, unknownRuns, damagedNotes, outdatedRuns } = recovered;
  const named = new Set(config.processes.map(({ id }) => id));
  for (const { id, line } of recoveryMessages(recovered, named)) log.write(id, line);
  for (const id of damagedNotes) link.forget(id);
  for (const { slot } of unknownRuns) {
    const { id } = specs.of(slot);
    const snapshot = snapshots.get(id);
    if (snapshot !== undefined) spawner.remember(id, snapshot);
  }
  for (const { slot, run } of outdatedRuns) spawner.kill(slot, run);
  const definitions = [...previous.config.processes, ...previous.removing].map(definitionOf);
  supervisor.resume(definitions, snapshots, new Set(previous.removing.map(({ id }) => id)));
}

/** Log lines about what a new service has recovered. `named`: ids of the configuration. */
function recoveryMessages(
  { unknownRuns, damagedNotes, outdatedRuns }: RecoveredState,
  named: ReadonlySet<string>,
): readonly { id?: string; line: LogLine }[] {
  return [
    ...damagedNotes.map((id) => ({
      line: warn(`Cannot use the note of "${id}": it is damaged or of another version; ignoring it`),
    })),
    ...unknownRuns.map(({ slot, pid }) => ({
      id: slot,
      line: named.has(processOf(slot))
        ? info(`already running (pid ${pid}); its history is not known`)
        : info(`runs (pid ${pid}), but is not in the configuration; stopping it`),
    })),
    ...outdatedRuns.map(({ slot, pid }) => ({
      id: slot,
      line: warn(`an earlier run of it still exists (pid ${pid}); killing it`),
    })),
  ];
}
