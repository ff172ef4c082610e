/**
 * procman for programs: start and control processes, check configurations.
 *
 * @packageDocumentation
 */
export { type ErrorCode, type ExitCode, ProcmanError } from "./base/errors.ts";
export { VERSION } from "./base/version.ts";
export { ConfigurationError } from "./config/problems.ts";
export type { Scale } from "./config/scale.ts";
export type { ApiSpec, Command, Config, EnvValue, LogSpec, Problem, ProcessSpec, WatcherSpec } from "./config/spec.ts";
export { type ValidateOptions, validateConfiguration } from "./config/validate.ts";
export type { FrontSpec, Strategy } from "./contract/balancer-protocol.ts";
export type { PlanOptions, Scaling } from "./contract/control.ts";
export type { EventRecord } from "./contract/event-record.ts";
export type { Account, Ulimits } from "./contract/limits.ts";
export type { ConsoleStyle, Rotation } from "./contract/logger-protocol.ts";
export type { PlannedAction, PlannedChange, PlannedSetting, PlanRecord } from "./contract/plan.ts";
export type { PluginSpec, Shipped } from "./contract/plugin-protocol.ts";
export type { PluginRecord } from "./contract/plugin-record.ts";
export type { HealthSpec, Probe, ReadyProbe } from "./contract/probe.ts";
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
export {
  type ClusterConfiguration,
  type Configuration,
  type DependencyConfiguration,
  defineConfig,
  type GlobalLoggerConfiguration,
  type HealthConfiguration,
  type LoggerConfiguration,
  type ProcessConfiguration,
  type ReadyConfiguration,
  type RotationConfiguration,
  type UlimitsConfiguration,
} from "./library/configuration.ts";
export type { Listener, ProcmanEvents } from "./library/events.ts";
export type { LineOptions } from "./library/lines.ts";
export { Procman, type RunOptions, type WaitOptions } from "./library/procman.ts";
export type { Condition, Dependency } from "./supervisor/plan.ts";
export type { Policy } from "./supervisor/restart-policy.ts";
