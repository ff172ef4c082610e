/** Events of the event stream. */
import type { HistoryEntry } from "./history-record.ts";
import type { PluginRecord } from "./plugin-record.ts";
import type { LogEntry, ProcessRecord, TelemetryReport } from "./records.ts";
import type { RolloutRecord } from "./rollout-record.ts";
import type { Incident } from "./run-summary.ts";
import type { StateRecord } from "./state-record.ts";

/** An event. Its `id` is the value for `Last-Event-ID`; ids increase, except those of type `log`. */
export type EventRecord =
  | {
      readonly id: string;
      readonly time: string;
      readonly type: "process.state";
      readonly process: ProcessRecord;
      readonly text?: string;
    }
  | {
      readonly id: string;
      readonly time: string;
      readonly type: "process.scheduled";
      readonly process: string;
      readonly text: string;
    }
  | {
      readonly id: string;
      readonly time: string;
      readonly type: "process.scaled";
      readonly process: string;
      readonly from: number;
      readonly to: number;
      readonly text: string;
    }
  | {
      readonly id: string;
      readonly time: string;
      readonly type: "process.watch";
      readonly process: string;
      readonly file: string;
    }
  | { readonly id: string; readonly time: string; readonly type: "process.telemetry"; readonly report: TelemetryReport }
  | { readonly id: string; readonly time: string; readonly type: "process.incident"; readonly incident: Incident }
  | { readonly id: string; readonly time: string; readonly type: "log"; readonly entry: LogEntry }
  | { readonly id: string; readonly time: string; readonly type: "plugin.state"; readonly plugin: PluginRecord }
  | { readonly id: string; readonly time: string; readonly type: "service.state"; readonly state: StateRecord }
  | {
      readonly id: string;
      readonly time: string;
      readonly type: "configuration.applied";
      readonly entry: HistoryEntry;
    }
  | { readonly id: string; readonly time: string; readonly type: "rollout.phase"; readonly rollout: RolloutRecord };

export type EventType = EventRecord["type"];

/** When each type of event is sent, for the docs. */
export const EVENT_MEANINGS: Readonly<Record<EventType, string>> = {
  "process.state":
    "a transition, block, unblock, enable, disable or change of configuration, with the record and usually a sentence (`text`)",
  "process.scheduled": "a process was started, skipped, missed or terminated by schedule",
  "process.scaled":
    "a cluster was scaled by its load or a schedule (`from`, `to`, and why in `text`); the same number twice: it would need more, and gets none",
  "process.watch": "a watched file has changed (`file`)",
  "process.telemetry": "a process reported numbers",
  "process.incident": "an incident is complete, a second or two after the end",
  log: "a line of the log (`entry`); only with `types=log`",
  "plugin.state": "a plugin is up, has failed, or waits for its next attempt",
  "service.state": "the service has started, or everything is about to be stopped",
  "configuration.applied":
    "a configuration was applied, or taken back because an instance didn't come up (`entry.result`)",
  "rollout.phase": "a rollout over several hosts is a step further here (`rollout.phase`)",
};

export const EVENT_TYPES = Object.keys(EVENT_MEANINGS) as readonly EventType[];
