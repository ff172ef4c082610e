/** How a service takes up what the one before it has left: each process in its state, by the configuration that it had. */
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { KeeperChannel } from "../keeper-channel.ts";
import type { ServiceLog } from "../reporting/service-log.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";
import { planOf } from "../spec-registry.ts";
import { messageForPast } from "./process-events.ts";
import type { RecoveredState } from "./reconcile.ts";

export type RestoredService = {
  readonly supervisor: Supervisor;
  readonly spawner: KeeperSpawner;
  readonly link: KeeperChannel;
  readonly log: ServiceLog;
  /** Of a process or one of its slots, by the former configuration. */
  readonly spec: (slot: string) => ProcessSpec;
};

export function restore(past: RecoveredState, config: Config, { supervisor, spawner, link, log, spec }: RestoredService): void {
  const { former, memories, takenUp, damaged, leftovers } = past;
  const named = new Set(config.processes.map(({ id }) => id));
  for (const { id, line } of messageForPast(past, named)) log.write(id, line);
  for (const id of damaged) link.forget(id);
  for (const { slot } of takenUp) {
    const { id } = spec(slot);
    const snapshot = memories.get(id);
    if (snapshot !== undefined) spawner.remember(id, snapshot);
  }
  for (const { slot, run } of leftovers) spawner.signal(slot, run, "SIGKILL");
  const plans = [...former.config.processes, ...former.leaving].map(planOf);
  supervisor.resume(plans, memories, new Set(former.leaving.map(({ id }) => id)));
}
