/** Log lines in batches: as many as there are, up to a bound; what is not taken stays on the disk. */
import type { LogEntry, LogItem } from "../../contract/records.ts";

export type Batch = {
  readonly entries: readonly LogEntry[];
  /** Bytes of the log that were retired before they could be read. */
  readonly lostBytes: number;
  /** Where to go on from. */
  readonly cursor: string;
};

export type BatchBounds = {
  readonly entries: number;
  readonly bytes: number;
  /** A batch that has begun waits so long for more. Milliseconds. */
  readonly waitMs: number;
};

/** Ends with its source. The next item is asked for when a batch is taken. */
export async function* batches(source: AsyncIterable<LogItem>, bounds: BatchBounds): AsyncGenerator<Batch> {
  const items = source[Symbol.asyncIterator]();
  let next = items.next();
  for (;;) {
    const batch = new Gathering(bounds);
    let late: Promise<"late"> | undefined;
    const timer = new AbortController();
    for (;;) {
      const result = await (late === undefined ? next : Promise.race([next, late]));
      if (result === "late") break;
      if (result.done) {
        timer.abort();
        if (!batch.isEmpty) yield batch.done();
        return;
      }
      batch.add(result.value);
      next = items.next();
      if (batch.isFull) break;
      late ??= lateAfter(bounds.waitMs, timer.signal);
    }
    timer.abort();
    yield batch.done();
  }
}

class Gathering {
  readonly #bounds: BatchBounds;
  readonly #entries: LogEntry[] = [];
  #bytes = 0;
  #lostBytes = 0;
  #cursor = "";

  constructor(bounds: BatchBounds) {
    this.#bounds = bounds;
  }

  get isEmpty(): boolean {
    return this.#cursor === "";
  }

  get isFull(): boolean {
    return this.#entries.length >= this.#bounds.entries || this.#bytes >= this.#bounds.bytes;
  }

  add(item: LogItem): void {
    this.#cursor = item.cursor;
    if (item.type === "gap") this.#lostBytes += item.bytes;
    else {
      this.#entries.push(item.entry);
      this.#bytes += item.entry.text.length;
    }
  }

  done(): Batch {
    return { entries: this.#entries, lostBytes: this.#lostBytes, cursor: this.#cursor };
  }
}

function lateAfter(ms: number, signal: AbortSignal): Promise<"late"> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve("late"), ms);
    signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  });
}
