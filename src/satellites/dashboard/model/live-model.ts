/** The processes as they are now: by the event stream, and by a request every few seconds for CPU and memory. */
import { Client } from "../../../client/client.ts";
import type { SendRequest } from "../../../client/transport.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import type { EventRecord, EventType } from "../../../core/contract/event-record.ts";
import type { HistoryEntry } from "../../../core/contract/history-record.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import type { StateRecord } from "../../../core/contract/state-record.ts";
import { INCIDENTS_LIMIT, withIncident } from "./incident-groups.ts";
import { MetricHistory } from "./metric-history.ts";
import { Observable } from "./observable.ts";
import { withRecord } from "./record-lists.ts";
import { watchVisibility } from "./visibility.ts";

/** Interval of requests for CPU and memory. Milliseconds. */
const POLL_MS = 5_000;
/** With thousands of processes, a request takes at most this part of the time. */
const POLL_SHARE = 20;
/** Events that come within this time are shown together. Milliseconds. */
const BATCH_MS = 30;
/** Pauses between attempts to connect: the first, doubled up to the longest. Milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const TYPES: readonly EventType[] = [
  "process.state",
  "process.incident",
  "plugin.state",
  "service.state",
  "configuration.applied",
];

export type LiveConnection =
  | { readonly kind: "connecting" | "live" }
  /** `retryAt`: milliseconds since 1970. */
  | { readonly kind: "lost"; readonly retryAt: number }
  /** procman said that it ends, and does not answer any more. */
  | { readonly kind: "ended" };

export class LiveModel {
  readonly client: Client;
  readonly history: MetricHistory;
  readonly processes = new Observable<readonly ProcessRecord[] | undefined>(undefined);
  readonly state = new Observable<StateRecord | undefined>(undefined);
  /** Newest first; undefined until they are asked for. */
  readonly incidents = new Observable<readonly Incident[] | undefined>(undefined);
  /** The configuration that was applied last, since the page is open. */
  readonly applied = new Observable<HistoryEntry | undefined>(undefined);
  readonly connection = new Observable<LiveConnection>({ kind: "connecting" });
  /** When the processes were last heard of. Milliseconds since 1970. */
  readonly updated = new Observable(0);
  /** Ends the stream. */
  #end = new AbortController();
  #unwatch: () => void = () => undefined;
  #isStopped = false;
  readonly #refused: (why: string) => void;
  readonly #changed = new Map<string, ProcessRecord>();
  /** Incidents that came as events before all are there. */
  #early: readonly Incident[] = [];
  #lastEvent: string | undefined;
  #batch: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  /** How far procman's clock is ahead of the browser's. Milliseconds. */
  #ahead = 0;

  /** `refused`: the token isn't valid any more. */
  constructor(send: SendRequest, refused: (why: string) => void) {
    this.#refused = refused;
    this.client = new Client(send, { opened: () => this.#opened(), lost: (pauseMs) => this.#lost(pauseMs) });
    this.history = new MetricHistory(
      (id, query) => this.client.metrics(id, query),
      () => this.now(),
    );
  }

  start(): void {
    this.#unwatch = watchVisibility({
      rest: () => this.#end.abort(),
      wake: (hasRested) => {
        void this.refresh();
        if (hasRested) void this.#follow();
      },
    });
    void this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#end.abort();
    clearTimeout(this.#batch);
    clearTimeout(this.#poll);
  }

  /** The time on procman's clock, which the browser's may differ from. Milliseconds since 1970. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Asks for all processes now. */
  async refresh(): Promise<void> {
    if (this.#isAsking || this.#isStopped) return;
    clearTimeout(this.#poll);
    this.#isAsking = true;
    const begun = performance.now();
    try {
      const [processes, state] = await Promise.all([this.client.processes(), this.client.state()]);
      // First: what is shown of the processes counts from it.
      this.#ahead = Date.parse(state.updated) - Date.now();
      this.processes.set(processes);
      this.state.set(state);
      this.updated.set(Date.now());
      this.history.add(processes);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#isAsking = false;
      // A page that nobody sees asks for nothing.
      if (!document.hidden && !this.#isStopped)
        this.#poll = setTimeout(() => void this.refresh(), Math.max(POLL_MS, (performance.now() - begun) * POLL_SHARE));
    }
  }

  /** Loads the incidents of all; later ones come as events. */
  async loadIncidents(): Promise<void> {
    if (this.incidents.value !== undefined) return;
    const incidents = await this.client.incidents("all", INCIDENTS_LIMIT).catch((error: unknown) => {
      if (error instanceof ProcmanError && error.code === "process-unknown") return [];
      throw error;
    });
    this.incidents.set(this.#early.reduceRight(withIncident, incidents));
    this.#early = [];
  }

  /** Reconnects by itself, also if procman doesn't answer at first. */
  async #follow(): Promise<void> {
    this.#end = new AbortController();
    const { signal } = this.#end;
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
      try {
        for await (const event of this.client.events(this.#lastEvent, signal, TYPES)) this.#take(event);
      } catch (error) {
        if (this.#failed(error)) return;
        this.#lost(pauseMs);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  /** Returns whether the token was refused. */
  #failed(error: unknown): boolean {
    if (!(error instanceof ProcmanError) || !["unauthorized", "scope-missing"].includes(error.code)) return false;
    this.stop();
    this.#refused(error.message);
    return true;
  }

  #opened(): void {
    this.connection.set({ kind: "live" });
    void this.refresh();
  }

  #lost(pauseMs: number): void {
    const hasEnded = this.state.value?.status === "terminating";
    this.connection.set(hasEnded ? { kind: "ended" } : { kind: "lost", retryAt: Date.now() + pauseMs });
  }

  #take(event: EventRecord): void {
    this.#lastEvent = event.id;
    if (event.type === "process.state") this.#changed.set(event.process.id, event.process);
    else if (event.type === "service.state") this.state.set(event.state);
    else if (event.type === "process.incident") this.#addIncident(event.incident);
    else if (event.type === "configuration.applied") this.applied.set(event.entry);
    this.#batch ??= setTimeout(() => this.#apply(), BATCH_MS);
  }

  #addIncident(incident: Incident): void {
    const known = this.incidents.value;
    if (known === undefined) this.#early = withIncident(this.#early, incident);
    else this.incidents.set(withIncident(known, incident));
  }

  /** An instance changes the record of its cluster, and an unknown process means another configuration: both are asked for. */
  #apply(): void {
    this.#batch = undefined;
    const before = this.processes.value;
    if (before === undefined) return;
    const { records, isComplete } = withRecord(before, this.#changed);
    this.#changed.clear();
    this.processes.set(records);
    if (!isComplete) void this.refresh();
  }
}
