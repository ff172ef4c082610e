/**
 * The captures of all runs, and with them the life of each FIFO: made and held by the logger in advance (`fifo-pool`),
 * reserved for a run before its fork, read by a logger, continued by the next logger or keeper, drained, and given
 * back.
 */
import { join } from "node:path";
import { messagesIn } from "../base/messages.ts";
import type { RunningRun } from "../ipc/keeper-protocol.ts";
import { type CaptureSpec, type FromLogger, keyOf, type ToLogger } from "../ipc/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import type { Channel, ComponentProcess } from "./channel.ts";
import { type FifoPair, FifoPool, type OpenablePaths, pathsOf } from "./fifo-pool.ts";
import type { Journal } from "./journal.ts";
import {
  clearHandovers,
  type FormerReading,
  type LoggerHandover,
  loggersReading,
  PreviousLoggers,
  readHandover,
} from "./logger-handover.ts";

/** Longest wait for an answer. A logger that has exceeded it (its disk is stuck, say) isn't waited for until it answers. Milliseconds. */
const WAIT_MS = 1_000;

/** A capture in progress; it may outlast its run. */
type OpenCapture = {
  readonly pair: FifoPair;
  readonly capture: CaptureSpec;
  /** Whether a logger has got the FIFOs, and may have read from them. */
  readonly isSent: boolean;
};

type NextLogger = ComponentProcess<ToLogger, FromLogger>;

/** How the logger begins to read a run. */
type RunReading = Pick<Extract<ToLogger, { readonly t: "open" }>, "former" | "isNew">;

export class Captures {
  readonly fifos: FifoPool;
  /** The run folder. */
  readonly #runFolder: string;
  readonly #journal: Journal;
  readonly #logger: Channel<ToLogger, FromLogger>;
  readonly #holds: HoldRequests;
  readonly #open = new Map<string, OpenCapture>();
  #previousLoggers: PreviousLoggers | undefined;
  /** What previous loggers left of runs whose captures are not known yet, as the records were lost. */
  readonly #left = new Map<string, FormerReading>();
  /** Pid of the current logger. */
  #loggerPid: number | undefined;
  /** The logger that is about to replace the current one. */
  #nextLogger: NextLogger | undefined;

  constructor(home: string, journal: Journal, logger: Channel<ToLogger, FromLogger>) {
    this.#runFolder = home;
    this.#journal = journal;
    this.#logger = logger;
    this.#holds = new HoldRequests((message) => logger.send(message, "now"));
    this.fifos = new FifoPool(join(home, "fifos"), async (pairs) => {
      await Promise.all([this.#holds.ask(pairs), this.#holdByNext(pairs)]);
    });
  }

  get count(): number {
    return this.#open.size;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** Records that a run about to be started will write into this pair, so that it is read even if this keeper dies in between. */
  reserve(key: string, pair: FifoPair, capture: CaptureSpec): void {
    this.#journal.add({ t: "capture", key, fifos: pair.number, capture });
  }

  /** The run could not be started. */
  cancel(key: string): void {
    if (this.#journal.state.captures.has(key)) this.#journal.add({ t: "drained", key });
  }

  /** The run was started: its logger reads the reserved pair from now on. */
  begin(key: string, pair: FifoPair, capture: CaptureSpec, former?: FormerReading): void {
    this.#sendOpen(key, { pair, capture, isSent: false }, former === undefined ? { isNew: true } : { former });
  }

  /** Changes where the output of a run goes. A run that is not captured (its record was lost) is captured from now on. */
  route(running: RunningRun, capture: CaptureSpec): void {
    const key = keyOf(running);
    const open = this.#open.get(key);
    const pair = open?.pair ?? this.fifos.ofProcess(running.pid);
    if (pair === undefined) return;
    this.reserve(key, pair, capture);
    const isReadByPrevious = this.#previousLoggers?.reads(key) ?? false;
    if (open === undefined && !isReadByPrevious) {
      this.begin(key, pair, capture, this.#left.get(key) ?? "killed");
      return void this.#left.delete(key);
    }
    this.#open.set(key, { pair, isSent: open?.isSent ?? true, capture });
    if (!isReadByPrevious) this.#logger.send({ t: "route", key, capture }, "deferred");
  }

  ended(key: string): void {
    if (this.#open.has(key) && !this.#previousLoggers?.reads(key)) this.#logger.send({ t: "ended", key }, "deferred");
  }

  /** Returns false if it was known already. */
  drained(key: string): boolean {
    const open = this.#open.get(key);
    if (open === undefined) return false;
    this.#open.delete(key);
    this.fifos.giveBack(open.pair);
    this.#journal.add({ t: "drained", key });
    return true;
  }

  /** The logger has answered this `hold`. */
  held(receipt: number): void {
    this.#holds.answered(receipt);
  }

  /**
   * Resolves when this logger, which is about to replace the current one, holds all FIFOs: this keeper may be killed
   * when the current logger has ended and the next one has opened nothing. A logger that knows the run folder then
   * waits for a later keeper.
   */
  async prepareLogger(next: NextLogger): Promise<void> {
    this.#nextLogger = next;
    next.listen({
      messages: (batch) => {
        for (const message of messagesIn<FromLogger>(batch)) if (message.t === "held") this.held(message.receipt);
      },
      exit: () => {
        this.#nextLogger = undefined;
      },
    });
    next.send({ t: "home", folder: this.#runFolder });
    await this.#holdByNext(this.#pairs);
  }

  async #holdByNext(pairs: readonly OpenablePaths[]): Promise<void> {
    const next = this.#nextLogger;
    if (next !== undefined) await this.#holds.ask(pairs, (message) => next.send(message, "now"));
  }

  /** A logger was started; `isFirst`: the first one of this keeper. */
  loggerStarted(pid: number, isFirst: boolean): void {
    const before = this.#loggerPid;
    void this.#registerLogger(pid);
    if (!isFirst) this.#takeOver(this.#open.keys(), before === undefined ? [] : [before]);
  }

  /** Continues the captures of an earlier keeper. Called before `loggerStarted`. */
  adopt(): void {
    const { captures, running, loggers } = this.#journal.state;
    for (const [key, { fifos, capture }] of captures) {
      const pair = this.fifos.adopt(fifos, running.get(key)?.pid);
      if (pair === undefined) this.#journal.add({ t: "drained", key });
      else this.#open.set(key, { pair, capture, isSent: true });
    }
    const pairs = [...this.#open.values()].map(({ pair }) => pair);
    this.fifos.removeOthers(
      pairs,
      [...running.values()].map(({ pid }) => pid),
    );
    this.#clearHandovers();
    const recorded = [...loggers.values()].filter(({ pid, startTime }) => isAlive(pid, startTime));
    // Records may be missing, or be old ones.
    const alive = recorded.length > 0 ? recorded : loggersReading([...running.values()].map(({ pid }) => pid));
    const before = [...new Set([...loggers.keys(), ...alive.map(({ pid }) => pid)])];
    const { pid: own } = this.#logger.current ?? {};
    // What no logger reads yet would be lost with this keeper and the loggers that hold it now.
    const held = own === undefined ? this.#holds.ask(this.#pairs) : this.#registerLogger(own);
    const keys = new Set([...this.#open.keys(), ...running.keys()]);
    if (alive.length === 0) this.#takeOver(keys, before);
    else
      this.#previousLoggers = new PreviousLoggers({ loggers: alive, keys, after: held }, (read) =>
        this.#takeOver(read, before),
      );
  }

  /** The state folder was removed. */
  recreate(): void {
    this.fifos.recreate();
  }

  remove(): void {
    this.#previousLoggers?.stop();
    for (const { pair } of this.#open.values()) this.fifos.giveBack(pair);
    this.fifos.remove();
  }

  /**
   * Records a logger before it reads anything, so that a later keeper asks it for a hand-over; but after it has got its
   * folder: a recorded logger that leaves no hand-over there counts as killed.
   */
  async #registerLogger(pid: number): Promise<void> {
    if (this.#loggerPid === pid) return;
    this.#loggerPid = pid;
    this.#nextLogger = undefined;
    this.#logger.send({ t: "home", folder: this.#runFolder });
    // Its channel is new, so the message is in it when the call returns.
    void this.#logger.flush();
    const held = this.#holds.ask(this.#pairs);
    failpoint("keeper.housed");
    this.#journal.add({ t: "logger", pid, startTime: processStat(pid)?.startTime ?? "" });
    this.#journal.flush();
    await held;
  }

  /** All that a logger has to hold or to read. */
  get #pairs(): readonly OpenablePaths[] {
    return [...this.fifos.free, ...[...this.#open.values()].map(({ pair }) => pathsOf(pair))];
  }

  /** These loggers have ended: the current one continues their captures. Their hand-over files stay until it has got them. */
  #takeOver(keys: Iterable<string>, pids: readonly number[]): void {
    const handover = readHandover(this.#runFolder, pids);
    failpoint("keeper.took");
    this.#resendOpen(keys, handover);
    void this.#logger.flush().then(() => {
      failpoint("keeper.retold");
      for (const pid of pids) this.#journal.add({ t: "logger-gone", pid });
      this.#journal.flush();
      this.#clearHandovers();
    });
  }

  #clearHandovers(): void {
    clearHandovers(this.#runFolder, this.#journal.state.loggers.keys());
  }

  /** Sends all captures to a new logger, with the incomplete lines that its predecessor had read. */
  #resendOpen(keys: Iterable<string>, handover: LoggerHandover): void {
    for (const key of [...keys]) {
      const open = this.#open.get(key);
      if (open === undefined) this.#left.set(key, handover(key));
      if (open === undefined || this.#previousLoggers?.reads(key)) continue;
      this.#sendOpen(key, open, open.isSent ? { former: handover(key) } : {});
      if (!this.#journal.state.running.has(key)) this.#logger.send({ t: "ended", key }, "deferred");
    }
  }

  #sendOpen(key: string, { pair, capture, isSent }: OpenCapture, reading: RunReading): void {
    this.#open.set(key, { pair, capture, isSent: isSent || this.#logger.isUp });
    this.#logger.send({ t: "open", key, ...pathsOf(pair), capture, ...reading }, "deferred");
  }
}

/** Asks loggers to hold the FIFOs of coming runs open, and waits for the answer: what such a run writes outlives run and keeper. */
export class HoldRequests {
  readonly #send: (message: ToLogger) => void;
  readonly #unanswered = new Map<number, () => void>();
  #last = 0;
  #isAnswering = true;

  constructor(send: (message: ToLogger) => void) {
    this.#send = send;
  }

  /** Resolves when the logger holds them, or doesn't answer. `send`: to another logger than the current one. */
  async ask(pairs: readonly OpenablePaths[], send = this.#send): Promise<void> {
    if (pairs.length === 0) return;
    this.#last += 1;
    const receipt = this.#last;
    const paths = pairs.flatMap(({ out, err }) => [out, err]);
    const fallbacks = pairs.flatMap(({ out, err, held }) => [held?.out ?? out, held?.err ?? err]);
    send({ t: "hold", paths, fallbacks, receipt });
    if (!this.#isAnswering) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.#isAnswering = false;
        this.#unanswered.delete(receipt);
        resolve();
      }, WAIT_MS);
      this.#unanswered.set(receipt, () => {
        clearTimeout(timer);
        this.#unanswered.delete(receipt);
        resolve();
      });
    });
  }

  answered(receipt: number): void {
    this.#isAnswering = true;
    this.#unanswered.get(receipt)?.();
  }
}
