/** What a plugin is: the public contract of `procman/plugin`. */

import type { JsonSchema } from "../base/schema.ts";
import type { Control } from "../contract/control.ts";
import type { PluginEvent } from "../ipc/plugin-protocol.ts";

/** Everything that can be asked of procman, by the plugin's name in the log of what was asked. */
export type PluginControl = Omit<Control, "events">;

export type PluginEvents = {
  /**
   * Hears what happens from now on, also over a restart of the plugin's thread. The next event comes when the promise of
   * the listener has resolved: so a slow plugin is not flooded. 1000 events wait for it; what is dropped after that is
   * told by an event `gap` with the number `lost`. What a listener throws is logged, and the plugin goes on; a promise
   * that doesn't resolve within 2 minutes ends the plugin's thread.
   *
   * @returns the way to end it
   * @example
   * events.on("process.incident", async ({ incident }) => { await tell(`${incident.process}: ${incident.reason}`); });
   */
  on<Type extends PluginEvent["type"]>(
    type: Type,
    listener: (event: PluginEvent & { readonly type: Type }) => void | Promise<void>,
  ): () => void;
};

/** Lines for procman's own log, with category `plugin`. At most 100 a second in the long run; what is left out is told by its number. */
export type PluginLog = {
  readonly debug: (text: string) => void;
  readonly info: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly error: (text: string) => void;
};

export type PluginContext<Options = Readonly<Record<string, unknown>>> = {
  readonly control: PluginControl;
  readonly events: PluginEvents;
  /** Checked by `schema`, with variables filled in. */
  readonly options: Options;
  readonly log: PluginLog;
  /** Aborted when the plugin has to end: procman ends, is upgraded, or has another configuration. */
  readonly signal: AbortSignal;
  /** Folder of its own, that stays: for what the plugin must remember. */
  readonly folder: string;
  /** `name` of the configuration. */
  readonly name: string;
};

/** Called when the plugin has to end; it has 5 seconds. */
export type Dispose = () => void | Promise<void>;

/** The part of https://standardschema.dev that is used: zod, valibot, arktype and others have it. */
export type StandardSchema<Output> = {
  readonly "~standard": {
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly output: Output } | undefined;
  };
};

/** What a check has found: the value, which it may have completed, or what is wrong. */
export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

export type Plugin<Options = Readonly<Record<string, unknown>>> = {
  readonly name: string;
  readonly version: string;
  /** What its options must be like: a schema of zod or another library of https://standardschema.dev, or a JSON Schema. Absent: anything. */
  readonly schema?: StandardSchema<Options> | JsonSchema;
  /** Has 30 seconds. What it throws is shown in `procman status`, and it is called again after a while, in a new thread. */
  // biome-ignore lint/suspicious/noConfusingVoidType: what an async function without a return is
  readonly setup: (context: PluginContext<Options>) => void | Dispose | Promise<void | Dispose>;
};

/**
 * The default export of a plugin's module. It returns what it gets, and gives it its types.
 *
 * @example
 * export default definePlugin<{ file: string }>({
 *   name: "incidents-to-file",
 *   version: "1.0.0",
 *   setup({ events, options, log }) {
 *     events.on("process.incident", ({ incident }) => appendFile(options.file, `${incident.process} ${incident.reason}\n`));
 *     log.info(`writes to ${options.file}`);
 *   },
 * });
 */
export function definePlugin<Options = Readonly<Record<string, unknown>>>(plugin: Plugin<Options>): Plugin<Options> {
  return plugin;
}
