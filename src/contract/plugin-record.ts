/** What is shown of a plugin. */
import { enumeration, integer, optional, schemaFor, string, time } from "../base/schema.ts";

/** A plugin of the configuration. */
export type PluginRecord = {
  /** From the last part of its address; a second one of the same name is `NAME-2`. */
  readonly id: string;
  /** As the configuration has it. */
  readonly url: string;
  /** `backoff`: it has failed, and is started again at `nextRestart`. */
  readonly status: "starting" | "running" | "backoff" | "stopping";
  /** Since the service was started. */
  readonly restarts: number;
  /** As it names itself. */
  readonly name?: string;
  readonly version?: string;
  readonly started?: string;
  readonly nextRestart?: string;
  /** Why it failed the last time; absent once it has run for a minute since then. */
  readonly problem?: string;
  /** Events that it was too slow for, or that came while its thread was being restarted. */
  readonly lostEvents: number;
  /** Of its thread: heap, and buffers outside of it. */
  readonly memoryBytes?: number;
};

export const PLUGIN = schemaFor<PluginRecord>(
  {
    id: string({ description: "From the last part of its address." }),
    url: string({ description: "As the configuration has it." }),
    status: enumeration(["starting", "running", "backoff", "stopping"], { description: "`backoff`: it has failed, and is tried again." }),
    restarts: integer({ description: "Since the service was started." }),
    name: optional(string({ description: "As it names itself." })),
    version: optional(string({ description: "As it says." })),
    started: optional(time({ description: "Begin of its thread." })),
    nextRestart: optional(time({ description: "When it is tried again." })),
    problem: optional(string({ description: "Why it failed the last time." })),
    lostEvents: integer({ description: "Events that it was too slow for." }),
    memoryBytes: optional(integer({ description: "Of its thread." })),
  },
  { description: "A plugin of the configuration." },
);
