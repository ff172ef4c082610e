/** The output of one run: two streams, and the places that its configuration names. */
import type { Capture as CaptureSpec, FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import type { Console } from "./console.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import type { Files } from "./files.ts";
import type { Sink, StreamEvents } from "./stream.ts";
import { decoratedFile, onConsole, plainFile, Stream } from "./stream.ts";

export type Open = Extract<ToLogger, { t: "open" }>;

export type Surroundings = {
  readonly files: Files;
  readonly console: Console;
  readonly tell: (message: FromLogger) => void;
  /** A logger before this one was killed while it read this run. */
  readonly isRestart: boolean;
};

const ERROR_MARK = "! ";

function fileSink(spec: CaptureSpec, which: "out" | "err", around: Surroundings): Sink | undefined {
  const path = which === "out" ? spec.stdout : (spec.stderr ?? spec.stdout);
  if (path === undefined) return undefined;
  const share = around.files.share(path, spec.id, spec.rotation);
  if (around.isRestart) share.file.markRestart();
  const isAmongOutput = which === "err" && path === spec.stdout;
  return spec.decorateFiles ? decoratedFile(share, spec.id, isAmongOutput ? ERROR_MARK : "") : plainFile(share);
}

function sinksOf(spec: CaptureSpec, which: "out" | "err", around: Surroundings): readonly Sink[] {
  const file = fileSink(spec, which, around);
  const shown = spec.console ? onConsole(around.console, spec.id, which === "out" ? 1 : 2) : undefined;
  return [file, shown].filter((sink) => sink !== undefined);
}

export class Capture {
  readonly #streams: readonly Stream[];
  #unsettled = 2;

  /** `done` is called when both streams ended and all is written. */
  constructor(open: Open, around: Surroundings, done: () => void) {
    const events = (file: string): StreamEvents => ({
      settled: () => {
        this.#unsettled -= 1;
        if (this.#unsettled === 0) done();
      },
      failed: (error) => around.tell({ t: "problem", file, code: errnoOf(error), message: `Cannot read ${file}: ${reasonOf(error)}` }),
    });
    const { capture: spec } = open;
    this.#streams = [
      new Stream(open.out, sinksOf(spec, "out", around), events(open.out)),
      new Stream(open.err, sinksOf(spec, "err", around), events(open.err)),
    ];
  }

  open(): void {
    for (const stream of this.#streams) stream.open();
  }

  ended(): void {
    for (const stream of this.#streams) stream.check();
  }

  drain(): void {
    for (const stream of this.#streams) stream.drain();
  }
}
