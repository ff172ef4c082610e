/** What a process needs of the world, and of those around it. */
import type { Notice } from "./notice.ts";
import type { Clock, Spawner } from "./ports.ts";
import type { Transition } from "./slot.ts";

export type ProcessPorts = {
  readonly clock: Clock;
  readonly spawner: Spawner;
  readonly publish: (transition: Transition) => void;
  readonly notice: (id: string, notice: Notice) => void;
  /** Whoever depends on it is on its way down, and ends first. */
  readonly holds: (id: string) => boolean;
};
