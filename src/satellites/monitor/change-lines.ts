/** The monitor without a terminal: one line for each change. */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { outcomeOf } from "../../cli/output/format.ts";
import { type ApiPlace, connectTo } from "../../client/connection/connect.ts";
import { reconnectError } from "../../client/connection/log-reader.ts";
import { printableLine } from "../../core/base/printable.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { Control } from "../../core/contract/control.ts";
import type { EventRecord, EventType } from "../../core/contract/event-record.ts";
import { changeText } from "../../core/contract/history-words.ts";
import type { ProcessRecord, Status } from "../../core/contract/records.ts";
import { CONSUMER } from "./monitor-model.ts";

const RETRY_MS = 1_000;
const TYPES: readonly EventType[] = [
  "process.state",
  "process.scheduled",
  "process.watch",
  "plugin.state",
  "service.state",
  "configuration.applied",
  "rollout.phase",
];

/** Prints the present states, then each change, until Ctrl-C or the end of procman. @throws {ProcmanError} `no-daemon`, `service-down` */
export async function printChanges(place: ApiPlace): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  // Ids of events are times in microseconds: nothing is missed after the states.
  const events: EventPosition = { after: String(Date.now() * 1_000), statuses: new Map() };
  const control = await connectTo(place, CONSUMER, undefined, {
    lost: () => note("connection lost, reconnecting"),
  });
  for (const record of await control.processes()) await print(stateLines(record));
  while (!stop.signal.aborted) {
    if ((await printEvents(control, events, stop.signal)) === "ended")
      return note("procman is not running; end of the changes");
    await sleep(RETRY_MS, undefined, { ref: !stop.signal.aborted });
  }
}

type EventPosition = { after: string; readonly statuses: Map<string, Status> };

/** A state is also published when only its reason or its record has changed. */
function isNews(event: EventRecord, statuses: Map<string, Status>): boolean {
  if (event.type !== "process.state") return true;
  const { id, status } = event.process;
  const before = statuses.get(id);
  statuses.set(id, status);
  return event.text !== undefined || status !== before;
}

async function printEvents(control: Control, events: EventPosition, signal: AbortSignal): Promise<string> {
  try {
    for await (const event of control.events(events.after, signal, TYPES)) {
      events.after = event.id;
      if (isNews(event, events.statuses)) await print([changeLine(event)]);
    }
    return "stopped";
  } catch (error) {
    return reconnectError(error, true);
  }
}

function stateLines(record: ProcessRecord): readonly string[] {
  const { updated, instances = [] } = record;
  return [`${timeText(updated)} ${record.id} ${outcomeOf(record)}`, ...instances.flatMap(stateLines)];
}

function timeText(time = new Date().toISOString()): string {
  return hostTime(Date.parse(time));
}

/** Without its end. */
function changeLine(event: EventRecord): string {
  return `${timeText(event.time)} ${whatOf(event)}`;
}

function whatOf(event: EventRecord): string {
  switch (event.type) {
    case "process.state":
      return `${event.process.id} ${event.text ?? outcomeOf(event.process)}`;
    case "process.scheduled":
      return `${event.process} ${event.text}`;
    case "process.scaled":
      return `${event.process} ${event.from} -> ${event.to}: ${event.text}`;
    case "process.watch":
      return `${event.process} ${event.file} has changed`;
    case "plugin.state":
      return `plugin ${event.plugin.id} ${event.plugin.status}${event.plugin.problem === undefined ? "" : `: ${event.plugin.problem}`}`;
    case "service.state":
      return `procman ${event.state.name} ${event.state.status}`;
    case "configuration.applied":
      return `configuration ${event.entry.number} ${event.entry.result}: ${changeText(event.entry) || event.entry.why}`;
    case "rollout.phase":
      return `rollout ${event.rollout.id} ${event.rollout.phase}${event.rollout.problem === undefined ? "" : `: ${event.rollout.problem}`}`;
    case "process.incident":
      return `${event.incident.process} ${event.incident.reason}`;
    case "process.telemetry":
      return `${event.report.process} telemetry`;
    case "log":
      return event.entry.text;
  }
}

/** Waits while the reader is slower. */
async function print(lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${printableLine(line)}\n`).join("");
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

function note(text: string): void {
  process.stderr.write(`procman: ${text}\n`);
}
