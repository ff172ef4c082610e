/**
 * `procman/plugin`: what a plugin of procman is made of, and a rig to test one.
 *
 * @packageDocumentation
 */

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
} from "./plugin.ts";
export { type PluginRig, type RigOptions, testPlugin } from "./rig.ts";
export type { LogshipOptions } from "./shipped/logship.ts";
export type { NotifyOptions } from "./shipped/notify.ts";
export type { OtlpOptions } from "./shipped/otlp.ts";
