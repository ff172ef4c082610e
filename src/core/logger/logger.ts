/** The logger: handles the messages of the keeper. */
import { dirname } from "node:path";
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { FromLogger, LoggerMessage, ToLogger } from "../ipc/logger-protocol.ts";
import { levelsBy } from "../log-store/level-rules.ts";
import type { StoredEntries } from "../log-store/own-entries.ts";
import { logsFolder } from "../log-store/segment-files.ts";
import { LogStore } from "../log-store/store.ts";
import { printInStyle } from "../os/error-output.ts";
import { failpoint } from "../os/failpoint.ts";
import { Backpressure } from "./backpressure.ts";
import type { OpenStreams } from "./capture.ts";
import { Capture } from "./capture.ts";
import { CaptureHandover } from "./capture-handover.ts";
import { ConsoleWriter, categoryOf } from "./console.ts";
import { FileCompressor } from "./file-compressor.ts";
import { HeldFifos } from "./held-fifos.ts";
import { HOLD_MS } from "./log-file.ts";
import { LogFiles } from "./log-files.ts";
import { UnreleasedRuns } from "./unreleased-runs.ts";

/** At the end: longest wait for the console and for a compression in progress. Milliseconds. */
const LAST_MS = 1000;

export type LoggerEvents = {
  readonly send: (message: FromLogger) => void;
  /** The last capture is drained. */
  readonly idle: () => void;
  readonly close: () => void;
  /** Everything was handed over to the next logger, so this one ends. */
  readonly handedOver: () => void;
};

export class Logger {
  readonly #events: LoggerEvents;
  readonly #compressor = new FileCompressor();
  readonly #store: LogStore;
  readonly #files: LogFiles;
  readonly #console: ConsoleWriter;
  readonly #handover: CaptureHandover;
  readonly #pause = new Backpressure();
  readonly #held: HeldFifos;
  readonly #captures = new Map<string, Capture>();
  readonly #unread = new UnreleasedRuns();
  /** Entries that former loggers have stored, while a batch is received that has entries again. */
  #stored: StoredEntries | undefined;
  /** No more reading, and messages are ignored. */
  #isEnded = false;

  constructor(events: LoggerEvents) {
    this.#events = events;
    const { send } = events;
    this.#store = new LogStore({
      problem: (folder, error) =>
        send({
          t: "problem",
          file: folder,
          code: errnoOf(error),
          message: `Cannot store logs in ${folder}: ${reasonOf(error)}`,
        }),
      recovered: (folder, lostLines, lostBytes) => send({ t: "recovered", file: folder, lostLines, lostBytes }),
    });
    this.#files = new LogFiles({
      compressor: this.#compressor,
      holdMs: HOLD_MS,
      report: {
        problem: (file, code, message) => send({ t: "problem", file, code, message }),
        recovered: (file, lostLines, lostBytes) => send({ t: "recovered", file, lostLines, lostBytes }),
        caughtUp: () => void this.#handover.tryAgain(),
      },
    });
    this.#held = new HeldFifos(this.#files.room);
    this.#console = new ConsoleWriter(this.#files);
    this.#handover = new CaptureHandover({
      files: this.#files,
      console: this.#console,
      pause: this.#pause,
      record: () => ({
        captures: Object.fromEntries([...this.#captures].map(([key, { partialLines }]) => [key, partialLines])),
      }),
      send,
      done: () => {
        this.#isEnded = true;
        this.#store.end();
        events.handedOver();
      },
    });
  }

  get isIdle(): boolean {
    return this.#captures.size === 0;
  }

  /** Whether a write to the console is blocked in the thread pool. */
  get isStuck(): boolean {
    return this.#console.isBusy;
  }

  receive(batch: readonly ToLogger[]): void {
    for (const message of batch) if (!this.#isEnded) this.#receive(message, batch);
    this.#stored = undefined;
    this.#confirm(batch);
  }

  /** Checks all runs for their end, since the keeper that would report it is gone. */
  checkAll(): void {
    for (const capture of [...this.#captures.values()]) capture.ended();
  }

  reopen(): void {
    this.#files.reopen();
  }

  handOver(): void {
    if (!this.#isEnded) this.#handover.ask();
  }

  /** Writes the remaining output and stops reading. `isAlone`: there is no keeper that asked for it, but there may be one later. */
  async close(isAlone: boolean): Promise<void> {
    this.#isEnded = true;
    this.#handover.cancel();
    this.#files.stopHolding();
    this.#unread.releaseAll();
    for (const capture of [...this.#captures.values()]) capture.drain();
    if (isAlone && !this.#files.behind) this.#handover.leaveEmpty();
    this.#files.end();
    this.#store.end();
    await Promise.all([this.#console.flush(LAST_MS), this.#compressor.stop(LAST_MS)]);
  }

  #receive(message: ToLogger, batch: readonly ToLogger[]): void {
    switch (message.t) {
      case "home":
        this.#handover.home = message.folder;
        this.#store.folder = logsFolder(dirname(message.folder));
        return;
      case "hold":
        this.#held.hold(message.paths, message.fallbacks);
        if (message.receipt !== undefined) this.#events.send({ t: "held", receipt: message.receipt });
        return;
      case "open":
        return this.#open(message, batch);
      case "route":
        return this.#captures.get(message.key)?.route(message.capture);
      case "release":
        return this.#unread.release(message.keys);
      case "ended":
        return this.#captures.get(message.key)?.ended();
      case "style":
        this.#console.style = message.style;
        printInStyle(message.style);
        this.#console.reserve(message.idWidth ?? 0);
        this.#console.levels = levelsBy(message.store?.levels);
        if (message.store !== undefined) this.#store.settings = message.store;
        this.#unread.isReporting = message.releases === true;
        return;
      case "say":
        return message.isAgain === true && !this.#lacks(message) ? undefined : this.#print(message);
      case "flush":
        return this.#flush(message);
      case "reopen":
        return this.#files.reopen();
      case "close":
        return this.#events.close();
      default:
        message satisfies never;
    }
  }

  /** Tells that entries are stored, as soon as they are. */
  #confirm(batch: readonly ToLogger[]): void {
    const receipts = batch.flatMap((message) =>
      message.t === "say" && message.receipt !== undefined ? [message.receipt] : [],
    );
    if (receipts.length === 0 || this.#isEnded) return;
    const problem = this.#store.flush();
    this.#events.send({ t: "stored", receipts, ...(problem === undefined ? {} : { problem }) });
  }

  #flush({ receipt, files, store }: ToLogger & { readonly t: "flush" }): void {
    const problems: { file: string; reason: string }[] = [];
    const attempt = (file: string, empty: () => boolean): boolean => {
      try {
        return empty();
      } catch (error) {
        problems.push({ file, reason: reasonOf(error) });
        return false;
      }
    };
    const emptied = files.filter((file) => attempt(file, () => this.#files.empty(file)));
    const isStoreEmpty = store && attempt(this.#store.folder ?? "", () => this.#store.empty());
    this.#events.send({ t: "flushed", receipt, files: emptied, store: isStoreEmpty, problems });
  }

  /** Without a store nobody knows, and an entry is rather missing on the console than there twice. */
  #lacks(message: LoggerMessage): boolean {
    this.#stored ??= this.#store.storedSince(message.at);
    return this.#stored?.take(message) === false;
  }

  #print(message: LoggerMessage): void {
    const { at, text, severity, id, run, instance, isQuiet } = message;
    const category = categoryOf(message);
    if (isQuiet !== true) this.#console.print(message);
    const origin = { ...(id === undefined ? {} : { process: id }), ...(run === undefined ? {} : { run }) };
    this.#store.addMessage({
      at,
      text,
      severity,
      category,
      ...origin,
      ...(instance === undefined ? {} : { instance }),
    });
  }

  #open(open: OpenStreams, batch: readonly ToLogger[]): void {
    const { key } = open;
    if (this.#captures.has(key)) return;
    const context = {
      files: this.#files,
      console: this.#console,
      store: this.#store,
      pause: this.#pause,
      send: this.#events.send,
      held: this.#held,
    };
    const capture = new Capture({ open, batch }, context, () => {
      failpoint("logger.drained");
      this.#captures.delete(key);
      // The keeper gives them to another run.
      this.#held.hold([open.out, open.err], open.held === undefined ? [] : [open.held.out, open.held.err]);
      this.#events.send({ t: "drained", key });
      if (this.isIdle) this.#events.idle();
    });
    this.#captures.set(key, capture);
    if (open.isNew === true) this.#unread.add(key, () => capture.open());
    else capture.open();
  }
}
