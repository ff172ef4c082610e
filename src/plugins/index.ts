/**
 * `procman/plugin`: what a plugin of procman is made of, and a rig to test one.
 *
 * @packageDocumentation
 */

export type { JsonSchema } from "../contract/json-schema.ts";
export type { PluginEvent } from "../contract/plugin-protocol.ts";
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
export { type PluginRig, type RigOptions, testPlugin } from "./rig.ts";
export type { Kind } from "./shipped/digest.ts";
export type { LogshipOptions } from "./shipped/logship.ts";
export type { NotifyOptions } from "./shipped/notify.ts";
export type { OtlpOptions } from "./shipped/otlp.ts";
export type { Facility } from "./shipped/syslog.ts";
