/** What a process needs from the outside world and from the other processes. */

import type { Clock, Spawner } from "./ports.ts";
import type { ProcessEvent } from "./process-notice.ts";
import type { Transition } from "./slot.ts";

export type ProcessPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly publish: (transition: Transition) => void;
  readonly notice: (id: string, notice: ProcessEvent) => void;
  /** Whether a dependent is being stopped and must exit first. */
  readonly hasRunningDependents: (id: string) => boolean;
};
