/** Groups log lines into batches of limited size. Lines that are not read yet stay on disk. */
import type { LogEntry, LogItem } from "../../../core/contract/records.ts";

export type LogBatch = {
  readonly entries: readonly LogEntry[];
  /** Bytes of the log that were deleted before they could be read. */
  readonly lostBytes: number;
  /** Position after the batch. */
  readonly cursor: string;
};

export type BatchLimits = {
  readonly entries: number;
  readonly bytes: number;
  /** Time from the first entry to the end of the batch. */
  readonly waitMs: number;
};

/** Ends with its source. Reads on only when the consumer asks for the next batch. */
export async function* batches(source: AsyncIterable<LogItem>, limits: BatchLimits): AsyncGenerator<LogBatch> {
  const reader = new BatchReader(source[Symbol.asyncIterator]());
  for (let batch = await gather(reader, limits); batch !== undefined; batch = await gather(reader, limits)) yield batch;
}

/** undefined: the source has ended. */
async function gather(reader: BatchReader, limits: BatchLimits): Promise<LogBatch | undefined> {
  const batch = new OpenBatch(limits);
  const timeout = new BatchTimeout(limits.waitMs);
  try {
    while (!batch.isFull) {
      const result = await timeout.race(reader.next());
      if (result === "late" || result.done) break;
      batch.add(result.value);
      reader.take();
      timeout.begin();
    }
  } finally {
    timeout.end();
  }
  return batch.isEmpty ? undefined : batch.done();
}

/** Keeps a pending `next` until its item is taken. */
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

class BatchTimeout {
  readonly #ms: number;
  #promise: Promise<"late"> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    this.#ms = ms;
  }

  begin(): void {
    this.#promise ??= new Promise((resolve) => {
      this.#timer = setTimeout(() => resolve("late"), this.#ms);
    });
  }

  race<T>(promise: Promise<T>): Promise<T | "late"> {
    return this.#promise === undefined ? promise : Promise.race([promise, this.#promise]);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

class OpenBatch {
  readonly #limits: BatchLimits;
  readonly #entries: LogEntry[] = [];
  #bytes = 0;
  #lostBytes = 0;
  #cursor = "";

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.#cursor === "";
  }

  get isFull(): boolean {
    return this.#entries.length >= this.#limits.entries || this.#bytes >= this.#limits.bytes;
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
