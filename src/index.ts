/**
 * procman for programs: start and control processes, check configurations.
 *
 * @packageDocumentation
 */
export { type ErrorCode, type ExitCode, ProcmanError } from "./base/errors.ts";
export { VERSION } from "./base/version.ts";
export type { Scale } from "./config/instance-overrides.ts";
export { ConfigurationError } from "./config/problems.ts";
export type {
  ApiSpec,
  CommandSpec as Command,
  Config,
  ConfigProblem as Problem,
  EnvValue,
  LogSpec,
  ProcessSpec,
  WatcherSpec,
} from "./config/spec.ts";
export { type ValidateOptions, validateConfiguration } from "./config/validate.ts";
export type { PlanOptions, Scaling, Signalling } from "./contract/control.ts";
export type { EventRecord } from "./contract/event-record.ts";
export type { Ulimits, UserAccount as Account } from "./contract/limits.ts";
export type { PlannedAction, PlannedChange, PlannedSetting, PlanRecord } from "./contract/plan.ts";
export type { PluginRecord } from "./contract/plugin-record.ts";
export type { HealthSpec, Probe, ReadyProbe } from "./contract/probe-spec.ts";
export type {
  Category,
  Incident,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  MetricPoint,
  ProcessRecord,
  Severity,
  Status,
  TelemetryReport,
} from "./contract/records.ts";
export type { StateRecord, SystemRecord } from "./contract/state-record.ts";
export type { FrontSpec, Strategy } from "./ipc/balancer-protocol.ts";
export type { ConsoleStyle, Rotation } from "./ipc/logger-protocol.ts";
export type { PluginSpec } from "./ipc/plugin-protocol.ts";
export {
  type ApiConfiguration,
  type ClusterConfiguration,
  type Configuration,
  type DependencyConfiguration,
  defineConfig,
  type GlobalLoggerConfiguration,
  type HealthConfiguration,
  type LoggerConfiguration,
  type PluginConfiguration,
  type ProcessConfiguration,
  type ReadyConfiguration,
  type RotationConfiguration,
  type UlimitsConfiguration,
  type WatcherConfiguration,
} from "./library/configuration.ts";
export type { LibraryListener as Listener, ProcmanEvents } from "./library/events.ts";
export { Procman, type RunOptions, type WaitOptions } from "./library/procman.ts";
export type { LineOptions } from "./library/start.ts";
export type { Shipped } from "./plugins/shipped/shipped-plugins.ts";
export type { Condition, Dependency } from "./supervisor/definition.ts";
export type { Policy } from "./supervisor/restart-policy.ts";
