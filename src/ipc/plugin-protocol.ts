/** What the service and the thread of a plugin say to each other. */
import type { ErrorPlace } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { Severity } from "../contract/records.ts";
import type { Shipped } from "../plugins/shipped/shipped-plugins.ts";

/** One entry of `plugins`. */
export type PluginSpec = {
  /** From the last part of its address; a second one of the same name is `NAME-2`. */
  readonly id: string;
  /** As it is written. */
  readonly url: string;
  readonly source:
    | { readonly kind: "shipped"; readonly name: Shipped }
    /** Absolute path. */
    | { readonly kind: "file"; readonly path: string }
    /** Found from this folder on upwards, as Node does. */
    | { readonly kind: "package"; readonly name: string; readonly folder: string }
    | { readonly kind: "remote"; readonly url: string };
  /** `sha256-…` */
  readonly integrity?: string;
  /** As they are written: variables are filled in when the plugin is started. */
  readonly options: Readonly<Record<string, unknown>>;
};

/** `@scope/name/part` is a module of the package `@scope/name`. */
export function packageOf(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

/** What a plugin hears: what happens, and how many events it has missed because it was too slow or was just being restarted. */
export type PluginEvent = Exclude<EventRecord, { readonly type: "log" }> | { readonly type: "gap"; readonly lost: number };

/** Parts of `Control` that a thread asks the service for; what is stored it reads itself, and events come to it. */
const QUESTIONS = {
  processes: true,
  process: true,
  state: true,
  act: true,
  scale: true,
  plan: true,
  reload: true,
  terminate: true,
  log: true,
  telemetry: true,
  metrics: true,
  incidents: true,
  prometheus: true,
} as const satisfies Readonly<Record<Exclude<keyof Control, "logs" | "follow" | "events">, true>>;

export type PluginQuestion = keyof typeof QUESTIONS;

export const ASKED = Object.keys(QUESTIONS) as readonly PluginQuestion[];

/** What a thread is started with. */
export type PluginStart = {
  readonly spec: PluginSpec;
  /** `name` of the configuration. */
  readonly name: string;
  readonly stateDir: string;
  /** Folder of the plugin's own, for what it must remember. */
  readonly folder: string;
  /** Folder for remote modules. */
  readonly cache: string;
  /** File of certificate authorities of the user's own. */
  readonly certificates?: string | undefined;
  /** Folder of the plugins that come with procman. */
  readonly shipped: string;
};

export type ToPlugin =
  /** As many as it has asked for at most. */
  | { readonly t: "events"; readonly events: readonly PluginEvent[] }
  | { readonly t: "answer"; readonly number: number; readonly value?: unknown; readonly error?: AskedError }
  | { readonly t: "ping" }
  /** Finish: `closed` follows. */
  | { readonly t: "close" };

export type AskedError = { readonly code?: string; readonly message: string };

export type FromPlugin =
  /** Its setup is done. */
  | { readonly t: "up"; readonly name: string; readonly version: string }
  /** It can't be started. `faults`: what is wrong with its options. */
  | { readonly t: "refused"; readonly message: string; readonly faults?: readonly ErrorPlace[] }
  | { readonly t: "log"; readonly severity: Severity; readonly text: string }
  /** The types of events that it wants from now on. */
  | { readonly t: "listen"; readonly types: readonly PluginEvent["type"][] }
  /** All events that it got are dealt with. */
  | { readonly t: "more" }
  | { readonly t: "ask"; readonly number: number; readonly method: PluginQuestion; readonly args: readonly unknown[] }
  /** Bytes of its heap, and of buffers outside of it. */
  | { readonly t: "pong"; readonly heap: number; readonly buffers: number }
  | { readonly t: "closed" };
