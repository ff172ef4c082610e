/** The output of one run: two streams, and the places that its configuration names. */
import type { Begun, Capture as CaptureSpec, FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import { Label } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import type { Console } from "./console.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import type { Files } from "./files.ts";
import type { Gate } from "./gate.ts";
import type { Sink, StreamEvents } from "./stream.ts";
import { decoratedFile, inStore, onConsole, plainFile, Stream } from "./stream.ts";

export type Open = Extract<ToLogger, { t: "open" }>;

export type Surroundings = {
  readonly files: Files;
  readonly console: Console;
  readonly store: Store;
  /** Closed: nothing is read. */
  readonly hold: Gate;
  readonly tell: (message: FromLogger) => void;
};

const ERROR_MARK = "! ";

type Which = "out" | "err";

function fileSink(spec: CaptureSpec, which: Which, files: Files, killing: unknown): Sink | undefined {
  const path = which === "out" ? spec.stdout : (spec.stderr ?? spec.stdout);
  if (path === undefined) return undefined;
  const share = files.share(path, spec.id, spec.rotation);
  if (killing !== undefined) share.file.markRestart(killing);
  const isAmongOutput = which === "err" && path === spec.stdout;
  return spec.decorateFiles ? decoratedFile(share, spec.id, isAmongOutput ? ERROR_MARK : "") : plainFile(share);
}

/** `killing`: see `LogFile.markRestart`; absent when nobody was killed. */
function sinksOf(spec: CaptureSpec, which: Which, { files, console, store }: Surroundings, killing?: unknown): readonly Sink[] {
  const stored = spec.store === undefined ? undefined : inStore(store, labelOf(spec, which));
  const file = fileSink(spec, which, files, killing);
  const shown = spec.console ? onConsole(console, spec.id, which === "out" ? 1 : 2) : undefined;
  return [stored, file, shown].filter((sink) => sink !== undefined);
}

function labelOf({ id, store }: CaptureSpec, which: Which): Label {
  const what = which === "out" ? ({ category: "stdout", severity: "info" } as const) : ({ category: "stderr", severity: "error" } as const);
  return new Label({ ...what, ...store, process: id }, false);
}

/** As `LogFile.markRestart` does in files. */
function sayRestart({ id, store }: CaptureSpec, to: Store): void {
  const text = "the logger was restarted here; up to 64 KiB of output may be missing";
  if (store !== undefined) to.say({ ...store, process: id, category: "service", severity: "warn", at: Date.now(), text });
}

export class Capture {
  readonly #around: Surroundings;
  readonly #out: Stream;
  readonly #err: Stream;
  #unsettled = 2;

  /** `done` is called when both streams ended and all is written. `batch`: what the message came with. */
  constructor({ open, batch }: { readonly open: Open; readonly batch: unknown }, around: Surroundings, done: () => void) {
    this.#around = around;
    const events = (file: string): StreamEvents => ({
      settled: () => {
        this.#unsettled -= 1;
        if (this.#unsettled === 0) done();
      },
      failed: (error) => around.tell({ t: "problem", file, code: errnoOf(error), message: `Cannot read ${file}: ${reasonOf(error)}` }),
    });
    const stream = (which: Which): Stream => {
      const { [which]: path, held, capture, former } = open;
      const sinks = sinksOf(capture, which, around, former === "killed" ? batch : undefined);
      const begun = Buffer.from(typeof former === "object" ? former[which] : "", "base64");
      return new Stream({ path, held: held?.[which], sinks, hold: around.hold, begun, events: events(path) });
    };
    if (open.former === "killed") sayRestart(open.capture, around.store);
    this.#out = stream("out");
    this.#err = stream("err");
  }

  /** What has been read of lines that are not whole, for the next logger. */
  get begun(): Begun {
    return { out: this.#out.begun.toString("base64"), err: this.#err.begun.toString("base64") };
  }

  open(): void {
    this.#out.open();
    this.#err.open();
  }

  route(spec: CaptureSpec): void {
    this.#out.route(() => sinksOf(spec, "out", this.#around));
    this.#err.route(() => sinksOf(spec, "err", this.#around));
  }

  ended(): void {
    this.#out.check();
    this.#err.check();
  }

  drain(): void {
    this.#out.drain();
    this.#err.drain();
  }
}
