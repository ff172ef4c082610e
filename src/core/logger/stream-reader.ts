/** Reads one output stream of a run from its FIFO, and writes whole lines to their destinations. */
import { stamp } from "../base/time-stamp.ts";
import type { RecordHeader } from "../log-store/record.ts";
import type { LogStore } from "../log-store/store.ts";
import { failpoint } from "../os/failpoint.ts";
import { Backpressure } from "./backpressure.ts";
import type { ConsoleWriter, OutputSource } from "./console.ts";
import { FifoReader } from "./fifo-reader.ts";
import { decorate, fileId, HEAD_ROOM, LineSplitter } from "./line-splitter.ts";
import type { FileShare } from "./log-files.ts";

/** A destination of lines. */
export type LineSink = {
  readonly backpressure: Backpressure;
  readonly write: (lines: Buffer) => void;
  readonly release: () => void;
};

export type StreamReaderEvents = {
  /** The end was reached and every line is written. Called once. */
  readonly settled: () => void;
  readonly failed: (error: unknown) => void;
};

export function plainFile({ file, release }: FileShare): LineSink {
  return { backpressure: file.backpressure, write: (lines) => file.write(lines), release };
}

/** `isShared`: with the id, also while no other process has the file open. */
type FileLineStyle = { readonly id: string; readonly mark: string; readonly isShared: boolean };

/** `2026-11-21T10:00:00.000Z web ! text`: with the id if several processes share the file, and `!` for errors among other output. */
export function decoratedFile(share: FileShare, { id, mark, isShared }: FileLineStyle): LineSink {
  const { file, release } = share;
  const own = fileId(id);
  const before = (): string => `${stamp(Date.now())} ${isShared || share.isMixed ? own : ""}${mark}`;
  return {
    backpressure: file.backpressure,
    write: (lines) => file.write(decorate(lines, { before: before(), after: "" })),
    release,
  };
}

export function onConsole(console: ConsoleWriter, source: OutputSource): LineSink {
  console.reserve(source.process.length);
  return {
    backpressure: console.backpressure,
    write: (lines) => console.lines(source, lines),
    release: () => undefined,
  };
}

/** The store never makes a writer wait. */
const open = new Backpressure();

export function inStore(store: LogStore, label: RecordHeader): LineSink {
  return { backpressure: open, write: (lines) => store.add(label, lines), release: () => undefined };
}

export type StreamReaderOptions = {
  readonly path: string;
  /** Another path of it, in case the first was removed. */
  readonly held: string | undefined;
  /** Its open descriptor, if it was held. */
  readonly fd?: number | undefined;
  readonly sinks: readonly LineSink[];
  /** While it is closed, nothing is read. */
  readonly pause: Backpressure;
  /** The partial line that the previous logger had read. */
  readonly partialLine: Buffer;
  readonly events: StreamReaderEvents;
};

export class StreamReader {
  readonly #fifo: FifoReader;
  readonly #splitter: LineSplitter;
  readonly #pause: Backpressure;
  readonly #events: StreamReaderEvents;
  #sinks: readonly LineSink[];
  #unwatch: readonly (() => void)[];
  #atEnd = false;
  #settled = false;

  constructor({ path, held, fd, sinks, pause, partialLine, events }: StreamReaderOptions) {
    this.#sinks = sinks;
    this.#pause = pause;
    this.#events = events;
    this.#splitter = new LineSplitter((lines) => {
      for (const sink of this.#sinks) sink.write(lines);
    });
    this.#splitter.push(partialLine, 0, partialLine.length);
    this.#fifo = new FifoReader([path, held ?? []].flat(), {
      chunk: (area, bytes) => {
        failpoint("logger.read");
        this.#splitter.push(area, HEAD_ROOM, HEAD_ROOM + bytes);
        failpoint("logger.written");
      },
      end: () => this.#end(),
      failed: events.failed,
      fd,
    });
    this.#unwatch = this.#watch();
  }

  /** The beginning of a line whose end has not been read yet. */
  get partialLine(): Buffer {
    return this.#splitter.partialLine;
  }

  open(): void {
    this.#update();
    this.#fifo.open();
  }

  /** From the next whole line on, writes to other destinations; has no effect after the end. */
  route(open: () => readonly LineSink[]): void {
    if (this.#atEnd) return;
    const before = this.#sinks;
    for (const end of this.#unwatch) end();
    // The new ones first, so that a file which is among both stays open.
    this.#sinks = open();
    for (const { release } of before) release();
    this.#unwatch = this.#watch();
    this.#update();
  }

  /** The run has ended: see `FifoReader.check`. */
  check(): void {
    this.#fifo.check();
  }

  /** Reads everything available, regardless of backpressure, and ends. */
  drain(): void {
    this.#fifo.drain();
  }

  #watch(): readonly (() => void)[] {
    return [this.#pause, ...this.#sinks.map(({ backpressure }) => backpressure)].map((backpressure) =>
      backpressure.watch(() => this.#update()),
    );
  }

  #end(): void {
    this.#atEnd = true;
    this.#splitter.flush();
    this.#update();
  }

  /** Backpressure pauses reading: the pipe fills up and its writer waits. */
  #update(): void {
    const isPaused = this.#pause.closed || this.#sinks.some(({ backpressure }) => backpressure.closed);
    if (isPaused) this.#fifo.pause();
    else if (this.#atEnd) this.#settle();
    else this.#fifo.resume();
  }

  #settle(): void {
    if (this.#settled) return;
    this.#settled = true;
    for (const end of this.#unwatch) end();
    for (const { release } of this.#sinks) release();
    this.#events.settled();
  }
}
