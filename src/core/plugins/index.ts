/**
 * `procman/plugin`: the types of a plugin, and a rig to test one.
 *
 * @packageDocumentation
 */

export type { JsonSchema } from "../base/schema.ts";
export type { PluginEvent } from "../ipc/plugin-protocol.ts";
export {
  type Dispose,
  definePlugin,
  type Plugin,
  type PluginContext,
  type PluginControl,
  type PluginEvents,
  type PluginLog,
  type StandardSchema,
  type Validated,
} from "./plugin.ts";
export type { OptionsOf } from "./schema-values.ts";
export type { Facility, LogshipOptions } from "./shipped/logship-options.ts";
export type { MessageKind as Kind, NotifyOptions } from "./shipped/notify-options.ts";
export type { OtlpOptions } from "./shipped/otlp-options.ts";
export { type PluginRig, type RigEvent, type RigOptions, type RigProcess, testPlugin } from "./test-kit.ts";
