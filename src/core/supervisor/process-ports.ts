/** What a process needs from the outside world and from the other processes. */

import type { Clock } from "../base/timer-clock.ts";
import type { ProcessDefinition } from "./definition.ts";
import type { Spawner } from "./ports.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { Transition } from "./slot.ts";

export type ProcessPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly publish: (transition: Transition) => void;
  readonly notice: (id: string, notice: ProcessEvent) => void;
  /** Whether a dependent is being stopped and must exit first. */
  readonly hasRunningDependents: (id: string) => boolean;
  /** Why this instance of a cluster is not restarted though it is unhealthy; undefined: it may be. */
  readonly healthHold: (id: string) => object | undefined;
  /** Absent: nothing outlives a reboot. */
  readonly lasting?: LastingRequests;
};

/** What outlives a shutdown and a reboot, unlike a snapshot: which processes are disabled, and the next starts that are made up for. */
export interface LastingRequests {
  isDisabled(id: string): boolean;
  setDisabled(id: string, isDisabled: boolean): void;
  /** Milliseconds since 1970; undefined: none is stored, or it was that of another schedule. */
  plannedStart(definition: ProcessDefinition): number | undefined;
  planStart(definition: ProcessDefinition, planned: number): void;
}
