/** Record of a plugin, with the schema. */
import { enumeration, integer, openObject, optional, string, time } from "../base/schema.ts";

export type { PluginRecord } from "../../../generated/records.ts";

export const PLUGIN = openObject(
  {
    id: string({ description: "From the last part of its address; a second plugin of the same name is `NAME-2`." }),
    url: string({ description: "As in the configuration." }),
    status: enumeration(["starting", "running", "backoff", "stopping"], {
      description: "`backoff`: it has failed, and is restarted at `nextRestart`.",
    }),
    restarts: integer({ description: "Since the service was started." }),
    name: optional(string({ description: "Its own name." })),
    version: optional(string({ description: "Its own version." })),
    started: optional(time({ description: "Start of its thread." })),
    nextRestart: optional(time({ description: "Time of the next restart." })),
    problem: optional(string({ description: "Why it failed last; absent once it has run for a minute." })),
    lostEvents: integer({
      description: "Events that it was too slow for, or that came during a restart of its thread.",
    }),
    memoryBytes: optional(integer({ description: "Memory of its thread: heap, and buffers outside the heap." })),
  },
  { description: "A plugin of the configuration." },
);
