/** `procman/client`: control of a running procman from Node and from browsers. */
import { Client } from "./client.ts";
import { type FetchOptions, fetchSend } from "./transport.ts";

export { type ErrorCode, type ErrorPlace as Fault, ProcmanError } from "../core/base/errors.ts";
export type * from "../core/contract/causes.ts";
export type {
  Action,
  ActOptions,
  Control,
  PlanOptions,
  ProcessInput,
  RollbackOptions,
  Scaling,
  Signalling,
} from "../core/contract/control.ts";
export type { EventRecord, EventType } from "../core/contract/event-record.ts";
export type {
  ExecInput,
  ExecItem,
  ExecLaunch,
  ExecOrder,
  ExecRecord,
  LaunchOrder,
} from "../core/contract/execution.ts";
export type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "../core/contract/history-record.ts";
export type { PlannedAction, PlannedChange, PlannedSetting, PlanRecord } from "../core/contract/plan.ts";
export type { PluginRecord } from "../core/contract/plugin-record.ts";
export type * from "../core/contract/records.ts";
export type * from "../core/contract/run-summary.ts";
export type { ScreenItem } from "../core/contract/screen.ts";
export type { StateRecord, SystemRecord } from "../core/contract/state-record.ts";
export { Client } from "./client.ts";
export type { FetchOptions, Reply, Request, SendRequest as Send } from "./transport.ts";

/**
 * Controls the procman whose API is at `url`. No request is sent before the first call.
 *
 * Every method rejects with a `ProcmanError` whose `code` names the case (`process-unknown`, `unauthorized`,
 * `wait-timeout` …), with
 * `service-down` if there is no answer (its `cause` is the error of `fetch`), and with the signal's reason when it is
 * aborted. Streams (`follow`, `events`) reconnect when a connection breaks and continue after the last item, until
 * their signal is aborted.
 *
 * @example
 * import { connect } from "procman/client";
 *
 * const procman = connect({ url: "http://127.0.0.1:9000", token: process.env.TOKEN ?? "" });
 * for (const { id, status, reason } of await procman.processes()) console.log(id, status, reason);
 * await procman.act("web", "restart", { waitSeconds: 30 });
 *
 * const stop = new AbortController();
 * for await (const event of procman.events(undefined, stop.signal)) {
 *   if (event.type === "process.incident") console.log(event.incident.reason);
 * }
 */
export function connect(options: FetchOptions): Client {
  return new Client(fetchSend(options));
}
