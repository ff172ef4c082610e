/** CPU and memory of the last hour, for small curves: asked for when a curve comes into view, and continued by what is known anyway. */
import type { MetricPoint, MetricQuery, ProcessRecord } from "../../../core/contract/records.ts";
import { allOf } from "./record-lists.ts";

const MINUTE_MS = 60_000;
export const HISTORY_MINUTES = 60;
/** Requests at the same time; browsers allow six, and some are streams. */
const AT_ONCE = 3;

export type MinutePoint = { readonly minute: number; readonly cpuPercent: number; readonly memoryBytes: number };

export class MetricHistory {
  readonly #ask: (id: string, query: MetricQuery) => Promise<readonly MetricPoint[]>;
  readonly #now: () => number;
  readonly #points = new Map<string, readonly MinutePoint[]>();
  /** Why points can't be loaded, and in which minute that was tried. */
  readonly #problems = new Map<string, { readonly text: string; readonly minute: number }>();
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #queue: string[] = [];
  #asking = 0;

  /** `now`: milliseconds since 1970. */
  constructor(ask: (id: string, query: MetricQuery) => Promise<readonly MetricPoint[]>, now: () => number = Date.now) {
    this.#ask = ask;
    this.#now = now;
  }

  /** undefined: they are not known yet. */
  of(id: string): readonly MinutePoint[] | undefined {
    return this.#points.get(id);
  }

  /** Why there is no curve; undefined: it is there, or is being loaded for the first time. */
  problemOf(id: string): string | undefined {
    return this.#problems.get(id)?.text;
  }

  /** Asks for the points if they are not known. Returns the function that ends listening. */
  listen(id: string, listener: () => void): () => void {
    const all = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, all.add(listener));
    if (!this.#points.has(id)) this.#enqueue(id);
    return () => {
      all.delete(listener);
      if (all.size === 0) this.#listeners.delete(id);
    };
  }

  /** Present values, as the newest point of each known curve. */
  add(records: readonly ProcessRecord[]): void {
    const minute = this.#minute;
    for (const [id, problem] of this.#problems)
      if (problem.minute !== minute && this.#listeners.has(id)) this.#enqueue(id);
    for (const { id, cpuPercent, memoryBytes } of allOf(records)) {
      const before = this.#points.get(id);
      // Without values it doesn't run, and its curve has a gap.
      if (before === undefined || cpuPercent === undefined || memoryBytes === undefined) continue;
      // The average of a minute is the service's to make: here the last value stands for it.
      const kept = before.filter((point) => point.minute > minute - HISTORY_MINUTES && point.minute !== minute);
      this.#points.set(id, [...kept, { minute, cpuPercent, memoryBytes }]);
      // The curve moves once a minute.
      if (before.at(-1)?.minute !== minute) this.#tell(id);
    }
  }

  get #minute(): number {
    return Math.floor(this.#now() / MINUTE_MS);
  }

  #enqueue(id: string): void {
    if (this.#queue.includes(id)) return;
    this.#queue.push(id);
    this.#next();
  }

  #next(): void {
    if (this.#asking >= AT_ONCE) return;
    const id = this.#queue.shift();
    if (id === undefined) return;
    this.#asking += 1;
    // Scrolled out of view before it was asked for.
    const done = this.#listeners.has(id) ? this.#load(id) : Promise.resolve();
    void done.finally(() => {
      this.#asking -= 1;
      this.#next();
    });
  }

  async #load(id: string): Promise<void> {
    const query = { from: this.#now() - HISTORY_MINUTES * MINUTE_MS, stepSeconds: 60 };
    try {
      const points = await this.#ask(id, query);
      this.#problems.delete(id);
      this.#points.set(
        id,
        points.map(({ time, cpuPercent, memoryBytes }) => ({
          minute: Math.floor(Date.parse(time) / MINUTE_MS),
          cpuPercent,
          memoryBytes,
        })),
      );
    } catch (error) {
      // Tried again in the next minute.
      this.#problems.set(id, { text: (error as Error).message, minute: this.#minute });
    }
    this.#tell(id);
  }

  #tell(id: string): void {
    for (const call of [...(this.#listeners.get(id) ?? [])]) call();
  }
}
