/** Captures the output of a run: its two streams, and the destinations in its configuration. */
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { BegunRun, CaptureSpec, FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import { RecordHeader } from "../log-store/record.ts";
import type { LogStore } from "../log-store/store.ts";
import type { Backpressure } from "./backpressure.ts";
import type { ConsoleWriter, OutputSource } from "./console.ts";
import type { HeldFifos } from "./held-fifos.ts";
import type { LogFiles } from "./log-files.ts";
import type { LineSink, StreamReaderEvents } from "./stream-reader.ts";
import { decoratedFile, inStore, onConsole, plainFile, StreamReader } from "./stream-reader.ts";

export type OpenStreams = Extract<ToLogger, { t: "open" }>;

export type CaptureContext = {
  readonly files: LogFiles;
  readonly console: ConsoleWriter;
  readonly store: LogStore;
  /** While it is closed, nothing is read. */
  readonly pause: Backpressure;
  readonly held: HeldFifos;
  readonly send: (message: FromLogger) => void;
};

const ERROR_MARK = "! ";

type StreamName = "out" | "err";

function fileSink(spec: CaptureSpec, which: StreamName, files: LogFiles, crashId: unknown): LineSink | undefined {
  const path = which === "out" ? spec.stdout : (spec.stderr ?? spec.stdout);
  if (path === undefined) return undefined;
  const share = files.share(path, spec.id, spec.rotation);
  if (crashId !== undefined) share.file.markRestart(crashId);
  const isAmongOutput = which === "err" && path === spec.stdout;
  if (!spec.decorateFiles) return plainFile(share);
  return decoratedFile(share, {
    id: spec.id,
    mark: isAmongOutput ? ERROR_MARK : "",
    isShared: spec.sharedFiles?.includes(path) === true,
  });
}

/** `crashId`: see `LogFile.markRestart`; absent if no logger was killed. */
function sinksOf(
  spec: CaptureSpec,
  which: StreamName,
  { files, console, store }: CaptureContext,
  crashId?: unknown,
): readonly LineSink[] {
  const source = sourceOf(spec, which);
  const stored = spec.store === undefined ? undefined : inStore(store, new RecordHeader(source, false));
  const file = fileSink(spec, which, files, crashId);
  const consoleSink = spec.console ? onConsole(console, source) : undefined;
  return [stored, file, consoleSink].filter((sink) => sink !== undefined);
}

function sourceOf({ id, store }: CaptureSpec, which: StreamName): OutputSource {
  const what =
    which === "out"
      ? ({ category: "stdout", severity: "info" } as const)
      : ({ category: "stderr", severity: "error" } as const);
  return { ...what, ...store, process: id };
}

/** Marks in the store where output may be missing. Like output, the mark is stored before the configuration is known. */
function markRestartInStore({ id, store }: CaptureSpec, to: LogStore): void {
  const header = { ...store, process: id, category: "service", severity: "warn" } as const;
  const text = "the logger was restarted here; up to 64 KiB of output may be missing\n";
  if (store !== undefined) to.add(new RecordHeader(header, true), Buffer.from(text));
}

export class Capture {
  readonly #context: CaptureContext;
  readonly #out: StreamReader;
  readonly #err: StreamReader;
  #unsettled = 2;

  /** `done` is called when both streams have ended and everything is written. `batch`: the message batch with `open`. */
  constructor(
    { open, batch }: { readonly open: OpenStreams; readonly batch: unknown },
    context: CaptureContext,
    done: () => void,
  ) {
    this.#context = context;
    const events = (file: string): StreamReaderEvents => ({
      settled: () => {
        this.#unsettled -= 1;
        if (this.#unsettled === 0) done();
      },
      failed: (error) => {
        // It is tried again in a second.
        if (errnoOf(error) === "EMFILE") context.files.room.make();
        context.send({ t: "problem", file, code: errnoOf(error), message: `Cannot read ${file}: ${reasonOf(error)}` });
      },
    });
    const stream = (which: StreamName): StreamReader => {
      const { [which]: path, held, capture, former } = open;
      const sinks = sinksOf(capture, which, context, former === "killed" ? batch : undefined);
      const partialLine = Buffer.from(typeof former === "object" ? former[which] : "", "base64");
      return new StreamReader({
        path,
        held: held?.[which],
        fd: context.held.take(path),
        sinks,
        pause: context.pause,
        partialLine,
        events: events(path),
      });
    };
    if (open.former === "killed") markRestartInStore(open.capture, context.store);
    this.#out = stream("out");
    this.#err = stream("err");
  }

  /** Partial lines that were read, for the next logger. */
  get partialLines(): BegunRun {
    return { out: this.#out.partialLine.toString("base64"), err: this.#err.partialLine.toString("base64") };
  }

  open(): void {
    this.#out.open();
    this.#err.open();
  }

  route(spec: CaptureSpec): void {
    this.#out.route(() => sinksOf(spec, "out", this.#context));
    this.#err.route(() => sinksOf(spec, "err", this.#context));
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
