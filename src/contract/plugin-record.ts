/** What is shown of a plugin. */
import { record, text, time, whole } from "./schema-words.ts";

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

export const PLUGIN = record<PluginRecord>(
  "A plugin of the configuration.",
  ["name", "version", "started", "nextRestart", "problem", "memoryBytes"],
  {
    id: text("From the last part of its address."),
    url: text("As the configuration has it."),
    status: {
      type: "string",
      enum: ["starting", "running", "backoff", "stopping"],
      description: "`backoff`: it has failed, and is tried again.",
    },
    restarts: whole("Since the service was started."),
    name: text("As it names itself."),
    version: text("As it says."),
    started: time("Begin of its thread."),
    nextRestart: time("When it is tried again."),
    problem: text("Why it failed the last time."),
    lostEvents: whole("Events that it was too slow for."),
    memoryBytes: whole("Of its thread."),
  },
);
