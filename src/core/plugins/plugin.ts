/** The public types of `procman/plugin`. */
import type { JsonSchema } from "../base/schema.ts";
import type { Control } from "../contract/control.ts";
import type { PluginEvent } from "../ipc/plugin-protocol.ts";
import type { OptionsOf } from "./schema-values.ts";

/** Controls procman. Audit lines show the plugin's name as the caller. */
export type PluginControl = Omit<Control, "events" | "screen">;

export type PluginEvents = {
  /**
   * Listens to events from now on; those that happen while the plugin's thread restarts are kept. The next event is
   * delivered when the promise of the listener has resolved. Up to 1000 events are queued; beyond that the oldest are
   * dropped, and an event `gap` gives their number as `lost`. An error of a listener is logged, and the plugin keeps
   * running; a promise that doesn't resolve within 2 minutes ends the plugin's thread.
   *
   * @returns removes the listener
   * @example
   * events.on("process.incident", async ({ incident }) => { await tell(`${incident.process}: ${incident.reason}`); });
   */
  on<Type extends PluginEvent["type"]>(
    type: Type,
    listener: (event: PluginEvent & { readonly type: Type }) => void | Promise<void>,
  ): () => void;
};

/** Writes lines to procman's log, with category `plugin`. At most 100 a second in the long run; the number of dropped lines is logged. */
export type PluginLog = {
  readonly debug: (text: string) => void;
  readonly info: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly error: (text: string) => void;
};

export type PluginContext<Options = Readonly<Record<string, unknown>>> = {
  readonly control: PluginControl;
  readonly events: PluginEvents;
  /** Variables are filled in, and `schema` has checked them. */
  readonly options: Options;
  readonly log: PluginLog;
  /** Aborted when the plugin has to end: procman ends or is upgraded, or the configuration has changed. */
  readonly signal: AbortSignal;
  /** A persistent folder for the plugin's own data. */
  readonly folder: string;
  /** `name` of the configuration. */
  readonly name: string;
};

/** Called when the plugin has to end; has 5 seconds. */
export type Dispose = () => void | Promise<void>;

/** The part of https://standardschema.dev that is used: zod, valibot, arktype and others have it. */
export type StandardSchema<Output> = {
  readonly "~standard": {
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly output: Output } | undefined;
  };
};

/** Result of a check: the value, possibly completed, or the issues. */
export type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly unknown[] | undefined }[] };

export type Plugin<Options = Readonly<Record<string, unknown>>, Checked = StandardSchema<Options> | JsonSchema> = {
  readonly name: string;
  readonly version: string;
  /** Schema of its options: from zod or another library of https://standardschema.dev, or a JSON Schema. Absent: anything is allowed. */
  readonly schema?: Checked;
  /** Has 30 seconds. An error is shown in `procman status`; after a delay it is called again in a new thread. */
  // biome-ignore lint/suspicious/noConfusingVoidType: what an async function without a return is
  readonly setup: (context: PluginContext<Options>) => void | Dispose | Promise<void | Dispose>;
};

/**
 * For the default export of a plugin's module: returns its argument, typed. The options have the type that the schema
 * says.
 *
 * @example
 * export default definePlugin({
 *   name: "incidents-to-file",
 *   version: "1.0.0",
 *   schema: { type: "object", required: ["file"], properties: { file: { type: "string" } } },
 *   setup({ events, options, log }) {
 *     events.on("process.incident", ({ incident }) => appendFile(options.file, `${incident.process}\n`));
 *     log.info(`writes to ${options.file}`);
 *   },
 * });
 */
export function definePlugin<const Of extends JsonSchema & { readonly "~standard"?: never }>(
  plugin: Plugin<OptionsOf<Of>, Of>,
): Plugin<OptionsOf<Of>>;
/** With options of this type, for a schema of zod or another library, or for one that is not written in place. */
export function definePlugin<Options = Readonly<Record<string, unknown>>>(plugin: Plugin<Options>): Plugin<Options>;
export function definePlugin(plugin: unknown): unknown {
  return plugin;
}
