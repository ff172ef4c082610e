/** Messages between the service and the thread of a plugin. */
import type { ErrorPlace } from "../base/errors.ts";
import { type Control, METHODS } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { Severity } from "../contract/records.ts";

/** One entry of `plugins`. */
export type PluginSpec = {
  /** From the last part of its address; a second one of the same name is `NAME-2`. */
  readonly id: string;
  /** As written in the configuration. */
  readonly url: string;
  /** `shipped`: comes with procman; the check of the configuration knows the names. */
  readonly source:
    | { readonly kind: "shipped"; readonly name: string }
    /** Absolute path. */
    | { readonly kind: "file"; readonly path: string }
    /** Resolved from this folder upwards, as Node does. */
    | { readonly kind: "package"; readonly name: string; readonly folder: string }
    | { readonly kind: "remote"; readonly url: string };
  /** `sha256-…` */
  readonly integrity?: string;
  /** As written in the configuration: variables are filled in when the plugin is started. */
  readonly options: Readonly<Record<string, unknown>>;
};

/** `@scope/name/part` is a module of the package `@scope/name`. */
export function packageOf(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The events of a plugin; `gap`: how many it has missed because it was too slow or was being restarted. */
export type PluginEvent =
  | Exclude<EventRecord, { readonly type: "log" }>
  | { readonly type: "gap"; readonly lost: number };

/** Methods of `Control` that a thread calls in the service. It reads stored logs itself, gets events as messages, and sees no terminals. */
export type PluginQuestion = Exclude<keyof Control, "logs" | "follow" | "events" | "screen">;

export const ASKED = METHODS.filter(
  (name): name is PluginQuestion => !["logs", "follow", "events", "screen"].includes(name),
);

/** What a thread is started with. */
export type PluginStart = {
  readonly spec: PluginSpec;
  /** `name` of the configuration. */
  readonly name: string;
  readonly stateDir: string;
  /** Folder for the plugin's own state. */
  readonly folder: string;
  /** Folder for remote modules. */
  readonly cache: string;
  /** File with the user's additional certificate authorities. */
  readonly certificates?: string | undefined;
  /** Folder of the plugins that come with procman. */
  readonly shipped: string;
};

export type ToPlugin =
  /** One batch; the next is sent after `more`. */
  | { readonly t: "events"; readonly events: readonly PluginEvent[] }
  | { readonly t: "answer"; readonly number: number; readonly value?: unknown; readonly error?: AskedError }
  | { readonly t: "ping" }
  /** Finish; answered by `closed`. */
  | { readonly t: "close" };

/** `taken`: as in a `ProcmanError`. */
export type AskedError = { readonly code?: string; readonly message: string; readonly taken?: number | undefined };

export type FromPlugin =
  /** Its setup is done. */
  | { readonly t: "up"; readonly name: string; readonly version: string }
  /** The plugin can't be started. `faults`: the problems of its options. */
  | { readonly t: "refused"; readonly message: string; readonly faults?: readonly ErrorPlace[] }
  | { readonly t: "log"; readonly severity: Severity; readonly text: string }
  /** The event types that it wants from now on. */
  | { readonly t: "listen"; readonly types: readonly PluginEvent["type"][] }
  /** All events of the batch are handled. */
  | { readonly t: "more" }
  | { readonly t: "ask"; readonly number: number; readonly method: PluginQuestion; readonly args: readonly unknown[] }
  /** Bytes of its heap, and of buffers outside the heap. */
  | { readonly t: "pong"; readonly heap: number; readonly buffers: number }
  | { readonly t: "closed" };
