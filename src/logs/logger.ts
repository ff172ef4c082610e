/** What the logger does with each message of the keeper. */

import type { FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import type { Open } from "./capture.ts";
import { Capture } from "./capture.ts";
import { Compressor } from "./compressor.ts";
import { Console } from "./console.ts";
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
    await Promise.all([this.#console.flush(LAST_MS), this.#compressor.stop(LAST_MS)]);
  }

  #receive(message: ToLogger, batch: readonly ToLogger[]): void {
    switch (message.t) {
      case "home":
        this.#handover.home = message.folder;
        return;
      case "open":
        return this.#open(message, batch);
      case "route":
        return this.#captures.get(message.key)?.route(message.capture);
      case "ended":
        return this.#captures.get(message.key)?.ended();
      case "style":
        this.#console.style = message.style;
        return;
      case "say":
        return this.#console.say(message);
      case "reopen":
        return this.#files.reopen();
      case "close":
        return this.#events.close();
      default:
        message satisfies never;
    }
  }

  #open(open: Open, batch: readonly ToLogger[]): void {
    const { key } = open;
    if (this.#captures.has(key)) return;
    const around = { files: this.#files, console: this.#console, hold: this.#hold, tell: this.#events.tell };
    const capture = new Capture({ open, batch }, around, () => {
      failpoint("logger.drained");
      this.#captures.delete(key);
      this.#events.tell({ t: "drained", key });
      if (this.isIdle) this.#events.idle();
    });
    this.#captures.set(key, capture);
    capture.open();
  }
}
