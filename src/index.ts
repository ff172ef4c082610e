/**
 * procman for programs: start and control processes, check configurations.
 *
 * @packageDocumentation
 */
export { type ErrorCode, type ExitCode, ProcmanError } from "./base/errors.ts";
export { VERSION } from "./base/version.ts";
export { ConfigurationError } from "./config/problems.ts";
export type { ConfigProblem as Problem } from "./config/spec.ts";
export type { PlanOptions, Scaling, Signalling } from "./contract/control.ts";
export type { EventRecord } from "./contract/event-record.ts";
export type { PartRecord } from "./contract/part-record.ts";
export type { PlannedAction, PlannedChange, PlannedSetting, PlanRecord } from "./contract/plan.ts";
export type { PluginRecord } from "./contract/plugin-record.ts";
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
  type ApiConfiguration,
  type ClusterConfiguration,
  type Configuration,
  type DependencyConfiguration,
  defineConfig,
  type EnvFileConfiguration,
  type GlobalLoggerConfiguration,
  type HealthConfiguration,
  type HookConfiguration,
  type HooksConfiguration,
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
export {
  type CompleteConfiguration,
  type CompleteProcess,
  type ValidateOptions,
  validateConfiguration,
} from "./library/validate-configuration.ts";
