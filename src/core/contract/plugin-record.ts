/** Record of a plugin, with the schema. */
import { enumeration, integer, optional, schemaFor, string, time } from "../base/schema.ts";

/** A plugin of the configuration. */
export type PluginRecord = {
  /** From the last part of its address; a second plugin of the same name is `NAME-2`. */
  readonly id: string;
  /** As in the configuration. */
  readonly url: string;
  /** `backoff`: it has failed, and is restarted at `nextRestart`. */
  readonly status: "starting" | "running" | "backoff" | "stopping";
  /** Since the service was started. */
  readonly restarts: number;
  /** Its own name. */
  readonly name?: string;
  readonly version?: string;
  readonly started?: string;
  readonly nextRestart?: string;
  /** Why it failed last; absent once it has run for a minute. */
  readonly problem?: string;
  /** Events that it was too slow for, or that came during a restart of its thread. */
  readonly lostEvents: number;
  /** Memory of its thread: heap, and buffers outside the heap. */
  readonly memoryBytes?: number;
};

export const PLUGIN = schemaFor<PluginRecord>(
  {
    id: string({ description: "From the last part of its address." }),
    url: string({ description: "As in the configuration." }),
    status: enumeration(["starting", "running", "backoff", "stopping"], {
      description: "`backoff`: it has failed, and is restarted.",
    }),
    restarts: integer({ description: "Since the service was started." }),
    name: optional(string({ description: "Its own name." })),
    version: optional(string({ description: "Its own version." })),
    started: optional(time({ description: "Start of its thread." })),
    nextRestart: optional(time({ description: "Time of the next restart." })),
    problem: optional(string({ description: "Why it failed last." })),
    lostEvents: integer({ description: "Events that it was too slow for." }),
    memoryBytes: optional(integer({ description: "Of its thread." })),
  },
  { description: "A plugin of the configuration." },
);
