/** What the logger does with each message of the keeper. */
import { dirname } from "node:path";
import type { FromLogger, Say, ToLogger } from "../contract/logger-protocol.ts";
import { logsFolder } from "../store/shelf.ts";
import { Store } from "../store/store.ts";
import type { Open } from "./capture.ts";
import { Capture } from "./capture.ts";
import { Compressor } from "./compressor.ts";
import { Console } from "./console.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import { HOLD_MS } from "./file.ts";
import { Files } from "./files.ts";
import { Gate } from "./gate.ts";
import { Handover } from "./handover.ts";

/** At the end, so long for the console and for a compression under way. */
const LAST_MS = 1000;

export type LoggerEvents = {
  readonly tell: (message: FromLogger) => void;
  /** The last capture is drained. */
  readonly idle: () => void;
  readonly close: () => void;
  /** All is left to the next logger: this one ends. */
  readonly handedOver: () => void;
};

export class Logger {
  readonly #events: LoggerEvents;
  readonly #compressor = new Compressor();
  readonly #store: Store;
  readonly #files: Files;
  readonly #console: Console;
  readonly #handover: Handover;
  readonly #hold = new Gate();
  readonly #captures = new Map<string, Capture>();
  /** Nothing is read any more, no message heard. */
  #over = false;

  constructor(events: LoggerEvents) {
    this.#events = events;
    const { tell } = events;
    this.#store = new Store({
      problem: (folder, error) =>
        tell({ t: "problem", file: folder, code: errnoOf(error), message: `Cannot store logs in ${folder}: ${reasonOf(error)}` }),
      recovered: (folder, lostLines, lostBytes) => tell({ t: "recovered", file: folder, lostLines, lostBytes }),
    });
    this.#files = new Files({
      compressor: this.#compressor,
      holdMs: HOLD_MS,
      report: {
        problem: (file, code, message) => tell({ t: "problem", file, code, message }),
        recovered: (file, lostLines, lostBytes) => tell({ t: "recovered", file, lostLines, lostBytes }),
        caughtUp: () => void this.#handover.tryAgain(),
      },
    });
    this.#console = new Console(this.#files);
    this.#handover = new Handover({
      files: this.#files,
      console: this.#console,
      hold: this.#hold,
      record: () => ({ captures: Object.fromEntries([...this.#captures].map(([key, { begun }]) => [key, begun])) }),
      tell,
      done: () => {
        this.#over = true;
        this.#store.end();
        events.handedOver();
      },
    });
  }

  get isIdle(): boolean {
    return this.#captures.size === 0;
  }

  /** True while a write to the console is stuck in the thread pool. */
  get isStuck(): boolean {
    return this.#console.isBusy;
  }

  receive(batch: readonly ToLogger[]): void {
    for (const message of batch) if (!this.#over) this.#receive(message, batch);
  }

  /** Every run may have ended unheard: the keeper that would tell is gone. */
  checkAll(): void {
    for (const capture of [...this.#captures.values()]) capture.ended();
  }

  reopen(): void {
    this.#files.reopen();
  }

  handOver(): void {
    if (!this.#over) this.#handover.ask();
  }

  /** Writes what is left. Afterwards nothing is read any more. `isAlone`: no keeper has asked for it, a later one may. */
  async close(isAlone: boolean): Promise<void> {
    this.#over = true;
    this.#handover.cancel();
    this.#files.stopHolding();
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
      case "open":
        return this.#open(message, batch);
      case "route":
        return this.#captures.get(message.key)?.route(message.capture);
      case "ended":
        return this.#captures.get(message.key)?.ended();
      case "style":
        this.#console.style = message.style;
        if (message.store !== undefined) this.#store.settings = message.store;
        return;
      case "say":
        return this.#say(message);
      case "reopen":
        return this.#files.reopen();
      case "close":
        return this.#events.close();
      default:
        message satisfies never;
    }
  }

  #say(message: Say): void {
    const { at, text, severity, id, run, instance, isQuiet, category = id === undefined ? "service" : "lifecycle" } = message;
    if (isQuiet !== true) this.#console.say(message);
    const whose = { ...(id === undefined ? {} : { process: id }), ...(run === undefined ? {} : { run }) };
    this.#store.say({ at, text, severity, category, ...whose, ...(instance === undefined ? {} : { instance }) });
  }

  #open(open: Open, batch: readonly ToLogger[]): void {
    const { key } = open;
    if (this.#captures.has(key)) return;
    const around = { files: this.#files, console: this.#console, store: this.#store, hold: this.#hold, tell: this.#events.tell };
    const capture = new Capture({ open, batch }, around, () => {
      this.#captures.delete(key);
      this.#events.tell({ t: "drained", key });
      if (this.isIdle) this.#events.idle();
    });
    this.#captures.set(key, capture);
    capture.open();
  }
}
