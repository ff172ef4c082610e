/** What the logger does with each message of the keeper. */
import type { FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import type { Open } from "./capture.ts";
import { Capture } from "./capture.ts";
import { Compressor } from "./compressor.ts";
import { Console } from "./console.ts";
import { HOLD_MS } from "./file.ts";
import { Files } from "./files.ts";

/** At the end, so long for the console and for a compression under way. */
const LAST_MS = 1000;

export type LoggerEvents = {
  readonly tell: (message: FromLogger) => void;
  /** The last capture is drained. */
  readonly idle: () => void;
};

export class Logger {
  readonly #events: LoggerEvents;
  readonly #console = new Console();
  readonly #compressor = new Compressor();
  readonly #files: Files;
  readonly #captures = new Map<string, Capture>();

  constructor(events: LoggerEvents) {
    this.#events = events;
    const { tell } = events;
    this.#files = new Files({
      compressor: this.#compressor,
      holdMs: HOLD_MS,
      report: {
        problem: (file, code, message) => tell({ t: "problem", file, code, message }),
        recovered: (file, lostLines, lostBytes) => tell({ t: "recovered", file, lostLines, lostBytes }),
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

  /** `isRestart`: the captures that are opened were read by a logger that was killed. All but `close` is done here. */
  receive(message: Exclude<ToLogger, { t: "close" }>, isRestart: boolean): void {
    switch (message.t) {
      case "open":
        return this.#open(message, isRestart);
      case "ended":
        return this.#captures.get(message.key)?.ended();
      case "style":
        this.#console.style = message.style;
        return;
      case "say":
        return this.#console.say(message);
      case "reopen":
        return this.#files.reopen();
      default:
        message satisfies never;
    }
  }

  /** Every run may have ended unheard: the keeper that would tell is gone. */
  checkAll(): void {
    for (const capture of [...this.#captures.values()]) capture.ended();
  }

  reopen(): void {
    this.#files.reopen();
  }

  /** Writes what is left. Afterwards nothing is read any more. */
  async close(): Promise<void> {
    this.#files.stopHolding();
    for (const capture of [...this.#captures.values()]) capture.drain();
    this.#files.end();
    await Promise.all([this.#console.flush(LAST_MS), this.#compressor.stop(LAST_MS)]);
  }

  #open(message: Open, isRestart: boolean): void {
    const { key } = message;
    if (this.#captures.has(key)) return;
    const around = { files: this.#files, console: this.#console, tell: this.#events.tell, isRestart };
    const capture = new Capture(message, around, () => {
      this.#captures.delete(key);
      this.#events.tell({ t: "drained", key });
      if (this.isIdle) this.#events.idle();
    });
    this.#captures.set(key, capture);
    capture.open();
  }
}
