/** Events of the event stream. */
import type { PluginRecord } from "./plugin-record.ts";
import type { Incident, LogEntry, ProcessRecord, TelemetryReport } from "./records.ts";
import type { StateRecord } from "./state-record.ts";

/** An event. Its `id` is the value for `Last-Event-ID`; ids increase, except those of type `log`. */
export type EventRecord =
  | { readonly id: string; readonly time: string; readonly type: "process.state"; readonly process: ProcessRecord; readonly text?: string }
  | { readonly id: string; readonly time: string; readonly type: "process.scheduled"; readonly process: string; readonly text: string }
  | { readonly id: string; readonly time: string; readonly type: "process.watch"; readonly process: string; readonly file: string }
  | { readonly id: string; readonly time: string; readonly type: "process.telemetry"; readonly report: TelemetryReport }
  | { readonly id: string; readonly time: string; readonly type: "process.incident"; readonly incident: Incident }
  | { readonly id: string; readonly time: string; readonly type: "log"; readonly entry: LogEntry }
  | { readonly id: string; readonly time: string; readonly type: "plugin.state"; readonly plugin: PluginRecord }
  | { readonly id: string; readonly time: string; readonly type: "service.state"; readonly state: StateRecord };

export type EventType = EventRecord["type"];

export const EVENT_TYPES = Object.keys({
  "process.state": 0,
  "process.scheduled": 0,
  "process.watch": 0,
  "process.telemetry": 0,
  "process.incident": 0,
  log: 0,
  "plugin.state": 0,
  "service.state": 0,
} satisfies Record<EventType, number>) as readonly EventType[];
