/** Sees crashes, exhaustion and recovery in events and incidents; goes on where it was after a restart. */
import type { Incident, ProcessRecord } from "../../../contract/records.ts";
import type { MessageEvent } from "./message-batcher.ts";
import type { MessageKind } from "./options.ts";

/** What must be known after a restart: since when it is told, the latest incident told of each process, and which are down. */
export type NotifiedState = {
  readonly since: string;
  readonly latest: Readonly<Record<string, string>>;
  readonly down: readonly string[];
  readonly exhausted: readonly string[];
};

export type CrashMonitorOptions = {
  readonly told: NotifiedState;
  readonly kinds: ReadonlySet<MessageKind>;
  /** Processes, instances or clusters; empty: all. */
  readonly processes: ReadonlySet<string>;
  readonly recoveredMs: number;
  readonly tell: (happening: MessageEvent) => void;
};

const CRASHES: ReadonlySet<Incident["cause"]> = new Set([
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

export class CrashMonitor {
  readonly #options: CrashMonitorOptions;
  readonly #down: Set<string>;
  readonly #exhausted: Set<string>;
  /** Which run's end was told as exhaustion. */
  readonly #lastRuns = new Map<string, number | undefined>();
  readonly #clusters = new Map<string, string>();
  readonly #recovering = new Map<string, NodeJS.Timeout>();
  readonly #latest: Map<string, string>;

  constructor(options: CrashMonitorOptions) {
    this.#options = options;
    const { down, exhausted, latest } = options.told;
    this.#down = new Set(down);
    this.#exhausted = new Set(exhausted);
    this.#latest = new Map(Object.entries(latest));
  }

  get told(): NotifiedState {
    const { since } = this.#options.told;
    return { since, latest: Object.fromEntries(this.#latest), down: [...this.#down], exhausted: [...this.#exhausted] };
  }

  /** What there is now, and what has happened while nobody watched. */
  begin(records: readonly ProcessRecord[], incidents: readonly Incident[]): void {
    for (const record of records) for (const { id, cluster } of record.instances ?? []) this.#clusters.set(id, cluster ?? record.id);
    for (const incident of incidents.toSorted((a, b) => a.time.localeCompare(b.time))) this.onIncident(incident);
    for (const record of records.flatMap((each) => each.instances ?? [each])) this.onState(record);
  }

  onIncident({ process, run, cause, code, reason, decision, time, leftOut = 0 }: Incident): void {
    // One that is told of twice, by an event and by the book.
    if (time <= (this.#latest.get(process) ?? this.#options.told.since)) return;
    this.#latest.set(process, time);
    if (!CRASHES.has(cause) || (cause === "exit" && code === 0) || !this.#isWanted(process)) return;
    this.#down.add(process);
    // An incident comes a second after its end.
    if (this.#lastRuns.get(process) === run && this.#options.kinds.has("exhausted")) return;
    this.#tell({ kind: "crash", process, time, text: `${reason}; ${decision}`, times: 1 + leftOut });
  }

  onState({ id, run, status, cluster, reason }: ProcessRecord): void {
    if (cluster !== undefined) this.#clusters.set(id, cluster);
    if (!this.#isWanted(id)) return;
    if (status !== "running") this.#stopTimer(id);
    if (status !== "exhausted") this.#exhausted.delete(id);
    if (status === "exhausted" && !this.#exhausted.has(id)) {
      this.#exhausted.add(id);
      this.#lastRuns.set(id, run);
      this.#down.add(id);
      this.#tell({ kind: "exhausted", process: id, time: new Date().toISOString(), text: reason, times: 1 });
    }
    if (status === "running" && this.#down.has(id) && !this.#recovering.has(id)) this.#recover(id);
  }

  close(): void {
    for (const timer of this.#recovering.values()) clearTimeout(timer);
  }

  #recover(id: string): void {
    const { recoveredMs } = this.#options;
    const timer = setTimeout(() => {
      this.#recovering.delete(id);
      this.#down.delete(id);
      const text = `it runs for ${recoveredMs / 1_000} s`;
      this.#tell({ kind: "recovered", process: id, time: new Date().toISOString(), text, times: 1 });
    }, recoveredMs);
    this.#recovering.set(id, timer);
  }

  #stopTimer(id: string): void {
    clearTimeout(this.#recovering.get(id));
    this.#recovering.delete(id);
  }

  #tell(happening: MessageEvent): void {
    if (this.#options.kinds.has(happening.kind)) this.#options.tell(happening);
  }

  #isWanted(id: string): boolean {
    const { processes } = this.#options;
    return processes.size === 0 || processes.has(id) || processes.has(this.#clusters.get(id) ?? "");
  }
}
