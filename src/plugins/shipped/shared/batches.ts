/** Log lines in batches: as many as there are, up to a bound; what is not taken stays on the disk. */
import type { LogEntry, LogItem } from "../../../contract/records.ts";

export type LogBatch = {
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
export async function* batches(source: AsyncIterable<LogItem>, bounds: BatchBounds): AsyncGenerator<LogBatch> {
  const reader = new BatchReader(source[Symbol.asyncIterator]());
  for (let batch = await gather(reader, bounds); batch !== undefined; batch = await gather(reader, bounds)) yield batch;
}

/** undefined: the source has ended. */
async function gather(reader: BatchReader, bounds: BatchBounds): Promise<LogBatch | undefined> {
  const batch = new OpenBatch(bounds);
  const late = new LateTimer(bounds.waitMs);
  try {
    while (!batch.isFull) {
      const result = await late.or(reader.next());
      if (result === "late" || result.done) break;
      batch.add(result.value);
      reader.take();
      late.begin();
    }
  } finally {
    late.end();
  }
  return batch.isEmpty ? undefined : batch.done();
}

/** What was asked for and not taken yet stays asked for. */
class BatchReader {
  readonly #items: AsyncIterator<LogItem>;
  #next: Promise<IteratorResult<LogItem>> | undefined;

  constructor(items: AsyncIterator<LogItem>) {
    this.#items = items;
  }

  next(): Promise<IteratorResult<LogItem>> {
    this.#next ??= this.#items.next();
    return this.#next;
  }

  take(): void {
    this.#next = undefined;
  }
}

class LateTimer {
  readonly #ms: number;
  #late: Promise<"late"> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  begin(): void {
    this.#late ??= new Promise((resolve) => {
      this.#timer = setTimeout(() => resolve("late"), this.#ms);
    });
  }

  or<T>(promise: Promise<T>): Promise<T | "late"> {
    return this.#late === undefined ? promise : Promise.race([promise, this.#late]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

class OpenBatch {
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

  done(): LogBatch {
    return { entries: this.#entries, lostBytes: this.#lostBytes, cursor: this.#cursor };
  }
}
