/**
 * procman for programs: start and control processes, check configurations.
 *
 * @packageDocumentation
 */

export type {
  ApiConfiguration,
  ClusterConfiguration,
  Configuration,
  DefaultsConfiguration,
  DependencyConfiguration,
  EnvFileConfiguration,
  GlobalLoggerConfiguration,
  HealthConfiguration,
  HookConfiguration,
  HooksConfiguration,
  LoggerConfiguration,
  PluginConfiguration,
  ProcessConfiguration,
  ReadyConfiguration,
  RotationConfiguration,
  ScaleConfiguration,
  SizeScheduleConfiguration,
  UlimitsConfiguration,
  WatcherConfiguration,
} from "../generated/configuration.ts";
export { type ErrorCode, type ExitCode, ProcmanError } from "./core/base/errors.ts";
export { VERSION } from "./core/base/version.ts";
export { ConfigurationError } from "./core/config/problems.ts";
export type { ConfigProblem as Problem } from "./core/config/spec.ts";
export type { PlanOptions, Scaling, Signalling } from "./core/contract/control.ts";
export type { EventRecord } from "./core/contract/event-record.ts";
export type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "./core/contract/history-record.ts";
export type { PartRecord } from "./core/contract/part-record.ts";
export type { PlannedAction, PlannedChange, PlannedSetting, PlanRecord } from "./core/contract/plan.ts";
export type { PluginRecord } from "./core/contract/plugin-record.ts";
export type {
  Category,
  InputRecord,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  MetricPoint,
  ProcessRecord,
  Severity,
  Status,
  TelemetryReport,
} from "./core/contract/records.ts";
export type { Incident } from "./core/contract/run-summary.ts";
export type { StateRecord, SystemRecord } from "./core/contract/state-record.ts";
export type { LibraryListener as Listener, ProcmanEvents } from "./satellites/library/events.ts";
export { Procman, type RunOptions, type WaitOptions } from "./satellites/library/procman.ts";
export type { LineOptions } from "./satellites/library/start.ts";
export {
  type CompleteConfiguration,
  type CompleteProcess,
  defineConfig,
  type ValidateOptions,
  validateConfiguration,
} from "./satellites/library/validate-configuration.ts";
