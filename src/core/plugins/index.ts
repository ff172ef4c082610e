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
export type { Facility, LogshipOptions } from "./shipped/logship-options.ts";
export type { MessageKind as Kind, NotifyOptions } from "./shipped/notify-options.ts";
export type { OtlpOptions } from "./shipped/otlp-options.ts";
export { type PluginRig, type RigOptions, testPlugin } from "./test-kit.ts";
