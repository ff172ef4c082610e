/** What is told of what happens. */
import type { PluginRecord } from "./plugin-record.ts";
import type { Incident, LogEntry, ProcessRecord, TelemetryReport } from "./records.ts";
import type { StateRecord } from "./state-record.ts";

/** What happens, as it is streamed. `id` grows, and is what `Last-Event-ID` takes. */
export type EventRecord =
  | { readonly id: string; readonly time: string; readonly type: "process.state"; readonly process: ProcessRecord; readonly text?: string }
  | { readonly id: string; readonly time: string; readonly type: "process.scheduled"; readonly process: string; readonly text: string }
  | { readonly id: string; readonly time: string; readonly type: "process.watch"; readonly process: string; readonly file: string }
  | { readonly id: string; readonly time: string; readonly type: "process.telemetry"; readonly report: TelemetryReport }
  | { readonly id: string; readonly time: string; readonly type: "process.incident"; readonly incident: Incident }
  | { readonly id: string; readonly time: string; readonly type: "log"; readonly entry: LogEntry }
  | { readonly id: string; readonly time: string; readonly type: "plugin.state"; readonly plugin: PluginRecord }
  | { readonly id: string; readonly time: string; readonly type: "service.state"; readonly state: StateRecord };
