/** Detects crashes, exhaustion, refused growth and recovery in events and incidents; its state survives a restart. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { type Incident, isRunEnd, type RunIncident } from "../../../core/contract/run-summary.ts";
import { isExhausted, isRunning } from "../../../core/contract/status-sets.ts";
import type { MessageKind } from "../../../core/plugins/shipped/notify-options.ts";
import type { MessageEvent } from "./message-batcher.ts";

/** The persistent state: when monitoring began, the time of the latest incident reported of each process, and which processes are down. */
export type NotifiedState = {
  readonly since: string;
  readonly latest: Readonly<Record<string, string>>;
  readonly down: readonly string[];
  readonly exhausted: readonly string[];
};

export type CrashMonitorOptions = {
  readonly state: NotifiedState;
  readonly kinds: ReadonlySet<MessageKind>;
  /** Processes, instances or clusters; empty: all. */
  readonly processes: ReadonlySet<string>;
  readonly recoveredMs: number;
  readonly notify: (event: MessageEvent) => void;
};

const CRASHES: ReadonlySet<RunIncident["cause"]> = new Set([
  "exit",
  "signal",
  "out-of-memory",
  "unstartable",
  "timeout",
  "unready",
  "unhealthy",
  "memory",
  "unknown",
]);

/** Longest wait of the message of an exhaustion for the incident of its run, which is recorded about a second after the end. Milliseconds. */
const INCIDENT_MS = 3_000;

/** The message of an exhaustion that waits for the incident of its run. */
type WaitingMessage = {
  readonly run: number | undefined;
  readonly event: MessageEvent;
  readonly timer: NodeJS.Timeout;
};

export class CrashMonitor {
  readonly #options: CrashMonitorOptions;
  readonly #down: Set<string>;
  readonly #exhausted: Set<string>;
  /** The run whose end was reported as exhaustion, by process. */
  readonly #lastRuns = new Map<string, number | undefined>();
  /** The run of the latest incident, by process. */
  readonly #incidentRuns = new Map<string, number>();
  /** By process: crashes of earlier runs are reported before them. */
  readonly #waiting = new Map<string, WaitingMessage>();
  readonly #clusters = new Map<string, string>();
  readonly #recovering = new Map<string, NodeJS.Timeout>();
  readonly #latest: Map<string, string>;

  constructor(options: CrashMonitorOptions) {
    this.#options = options;
    const { down, exhausted, latest } = options.state;
    this.#down = new Set(down);
    this.#exhausted = new Set(exhausted);
    this.#latest = new Map(Object.entries(latest));
  }

  get state(): NotifiedState {
    const { since } = this.#options.state;
    const exhausted = [...this.#exhausted].filter((id) => !this.#waiting.has(id));
    return { since, latest: Object.fromEntries(this.#latest), down: [...this.#down], exhausted };
  }

  /** Takes the present processes, and the incidents since the plugin last ran. */
  begin(records: readonly ProcessRecord[], incidents: readonly Incident[]): void {
    for (const record of records)
      for (const { id, cluster } of record.instances ?? []) this.#clusters.set(id, cluster ?? record.id);
    for (const incident of incidents.toSorted((a, b) => a.time.localeCompare(b.time))) this.onIncident(incident);
    for (const record of records.flatMap((each) => each.instances ?? [each])) this.onState(record);
  }

  onIncident(incident: Incident): void {
    const { process, run } = incident;
    if (!isRunEnd(incident)) return this.#reportGrowth(incident);
    this.#incidentRuns.set(process, run);
    this.#report(incident);
    if (this.#waiting.get(process)?.run === run) this.#release(process);
  }

  onState(record: ProcessRecord): void {
    const { id, run, cluster, reason } = record;
    if (cluster !== undefined) this.#clusters.set(id, cluster);
    if (!this.#isWanted(id)) return;
    if (!isRunning(record)) this.#stopTimer(id);
    if (!isExhausted(record)) {
      this.#release(id);
      this.#exhausted.delete(id);
    } else if (!this.#exhausted.has(id)) {
      this.#exhausted.add(id);
      this.#lastRuns.set(id, run);
      this.#down.add(id);
      this.#holdBack(run, { kind: "exhausted", process: id, time: new Date().toISOString(), text: reason, times: 1 });
    }
    if (isRunning(record) && this.#down.has(id) && !this.#recovering.has(id)) this.#recover(id);
  }

  close(): void {
    for (const timer of this.#recovering.values()) clearTimeout(timer);
    for (const id of [...this.#waiting.keys()]) this.#release(id);
  }

  /** When it is refused, and when that is over: the incident of that time comes twice. */
  #reportGrowth({ process, time, reason, decision, ended }: Incident): void {
    const latest = this.#latest.get(process) ?? this.#options.state.since;
    if (!this.#isWanted(process)) return;
    if (time > latest) {
      this.#latest.set(process, time);
      this.#down.add(process);
      this.#notify({ kind: "growth", process, time, text: reason, times: 1 });
    }
    if (ended === undefined || !this.#down.delete(process)) return;
    this.#notify({ kind: "recovered", process, time: ended, text: decision, times: 1 });
  }

  #report({ process, run, cause, code, success, reason, decision, time, leftOut = 0 }: RunIncident): void {
    // Already reported: an incident may come both as an event and from the stored incidents.
    if (time <= (this.#latest.get(process) ?? this.#options.state.since)) return;
    this.#latest.set(process, time);
    if (!CRASHES.has(cause) || success === true || (cause === "exit" && code === 0) || !this.#isWanted(process)) return;
    this.#down.add(process);
    // An incident is recorded one second after the end of its run, which was reported as exhaustion already.
    if (this.#lastRuns.get(process) === run && this.#options.kinds.has("exhausted")) return;
    this.#notify({ kind: "crash", process, time, text: `${reason}; ${decision}`, times: 1 + leftOut });
  }

  /** Until the incident of the run is there. */
  #holdBack(run: number | undefined, event: MessageEvent): void {
    const { process } = event;
    if (run !== undefined && this.#incidentRuns.get(process) === run) return this.#notify(event);
    this.#waiting.set(process, { run, event, timer: setTimeout(() => this.#release(process), INCIDENT_MS) });
  }

  #release(process: string): void {
    const waiting = this.#waiting.get(process);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    this.#waiting.delete(process);
    this.#notify(waiting.event);
  }

  #recover(id: string): void {
    const { recoveredMs } = this.#options;
    const timer = setTimeout(() => {
      this.#recovering.delete(id);
      this.#down.delete(id);
      const text = `it has been up for ${recoveredMs / 1_000} s`;
      this.#notify({ kind: "recovered", process: id, time: new Date().toISOString(), text, times: 1 });
    }, recoveredMs);
    this.#recovering.set(id, timer);
  }

  #stopTimer(id: string): void {
    clearTimeout(this.#recovering.get(id));
    this.#recovering.delete(id);
  }

  #notify(event: MessageEvent): void {
    if (this.#options.kinds.has(event.kind)) this.#options.notify(event);
  }

  #isWanted(id: string): boolean {
    const { processes } = this.#options;
    return processes.size === 0 || processes.has(id) || processes.has(this.#clusters.get(id) ?? "");
  }
}
