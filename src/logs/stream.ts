/** One output stream of one run: from its FIFO, in whole lines, to where it is wanted. */
import { failpoint } from "../os/failpoint.ts";
import type { Label } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import type { Console } from "./console.ts";
import { decorate, fileId } from "./decorate.ts";
import { Fifo } from "./fifo.ts";
import type { Share } from "./files.ts";
import { Gate } from "./gate.ts";
import { HEAD_ROOM, LineSplitter } from "./lines.ts";
import { stamp } from "./stamp.ts";

/** A place for lines. */
export type Sink = { readonly gate: Gate; readonly write: (lines: Buffer) => void; readonly release: () => void };

export type StreamEvents = {
  /** The end was reached and every line is where it belongs. Said once. */
  readonly settled: () => void;
  readonly failed: (error: unknown) => void;
};

export function plainFile({ file, release }: Share): Sink {
  return { gate: file.gate, write: (lines) => file.write(lines), release };
}

/** `2026-11-21T10:00:00.000Z web ! text`: the id where several processes share the file, `!` for errors among other output. */
export function decoratedFile(share: Share, id: string, mark: string): Sink {
  const { file, release } = share;
  const own = fileId(id);
  const before = (): string => `${stamp(Date.now())} ${share.isMixed ? own : ""}${mark}`;
  return { gate: file.gate, write: (lines) => file.write(decorate(lines, { before: before(), after: "" })), release };
}

export function onConsole(console: Console, id: string, fd: number): Sink {
  console.know(id);
  return { gate: console.gate, write: (lines) => console.lines(id, fd, lines), release: () => undefined };
}

/** Nobody ever waits for the store. */
const open = new Gate();

export function inStore(store: Store, label: Label): Sink {
  return { gate: open, write: (lines) => store.add(label, lines), release: () => undefined };
}

export type StreamOptions = {
  readonly path: string;
  /** Another name of it, should that be gone. */
  readonly held: string | undefined;
  readonly sinks: readonly Sink[];
  /** While it is closed nothing is read, whatever the sinks say. */
  readonly hold: Gate;
  /** What an earlier logger had read of a line. */
  readonly begun: Buffer;
  readonly events: StreamEvents;
};

export class Stream {
  readonly #fifo: Fifo;
  readonly #splitter: LineSplitter;
  readonly #hold: Gate;
  readonly #events: StreamEvents;
  #sinks: readonly Sink[];
  #unwatch: readonly (() => void)[];
  #atEnd = false;
  #settled = false;

  constructor({ path, held, sinks, hold, begun, events }: StreamOptions) {
    this.#sinks = sinks;
    this.#hold = hold;
    this.#events = events;
    this.#splitter = new LineSplitter((lines) => {
      for (const sink of this.#sinks) sink.write(lines);
    });
    this.#splitter.push(begun, 0, begun.length);
    this.#fifo = new Fifo([path, held ?? []].flat(), {
      chunk: (area, bytes) => {
        failpoint("logger.read");
        this.#splitter.push(area, HEAD_ROOM, HEAD_ROOM + bytes);
        failpoint("logger.written");
      },
      end: () => this.#end(),
      failed: events.failed,
    });
    this.#unwatch = this.#watch();
  }

  /** The beginning of a line whose end has not been read. */
  get begun(): Buffer {
    return this.#splitter.begun;
  }

  open(): void {
    this.#update();
    this.#fifo.open();
  }

  /** From the next whole line on all goes to other places; nothing more comes once the end was reached. */
  route(open: () => readonly Sink[]): void {
    if (this.#atEnd) return;
    const before = this.#sinks;
    for (const end of this.#unwatch) end();
    // First the new ones: a file that is among both stays open.
    this.#sinks = open();
    for (const { release } of before) release();
    this.#unwatch = this.#watch();
    this.#update();
  }

  /** The run is over: see `Fifo.check`. */
  check(): void {
    this.#fifo.check();
  }

  /** Takes what is there, whatever the sinks say, and ends. */
  drain(): void {
    this.#fifo.drain();
  }

  #watch(): readonly (() => void)[] {
    return [this.#hold, ...this.#sinks.map(({ gate }) => gate)].map((gate) => gate.watch(() => this.#update()));
  }

  #end(): void {
    this.#atEnd = true;
    this.#splitter.flush();
    this.#update();
  }

  /** A closed gate pauses the reading: the pipe fills up and its writer waits. */
  #update(): void {
    const isHeld = this.#hold.closed || this.#sinks.some(({ gate }) => gate.closed);
    if (isHeld) this.#fifo.pause();
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
