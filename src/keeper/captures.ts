/** The output of runs on its way from their FIFOs to the logger: who reads what, and where it goes. */
import { join } from "node:path";
import type { RunningRun } from "../ipc/keeper-protocol.ts";
import type { BegunRun, CaptureSpec, FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import { type FifoPair, FifoPool, pathsOf } from "./fifo-pool.ts";
import type { RestartingProcess } from "./internal-process.ts";
import { type Journal, keyOf } from "./journal.ts";
import { clearHandovers, type LoggerHandover, PreviousLoggers, readHandover } from "./logger-handover.ts";

/** Output under way; it may outlast its run. */
type OpenCapture = {
  readonly pair: FifoPair;
  readonly capture: CaptureSpec;
  /** A logger may have read of it. */
  readonly told: boolean;
};

export class Captures {
  readonly fifos: FifoPool;
  /** The run folder. */
  readonly #home: string;
  readonly #journal: Journal;
  readonly #logger: RestartingProcess<ToLogger, FromLogger>;
  readonly #open = new Map<string, OpenCapture>();
  #former: PreviousLoggers | undefined;
  /** Pid of our own logger. */
  #own: number | undefined;

  constructor(home: string, journal: Journal, logger: RestartingProcess<ToLogger, FromLogger>) {
    this.#home = home;
    this.#journal = journal;
    this.#logger = logger;
    this.fifos = new FifoPool(join(home, "fifos"));
  }

  get count(): number {
    return this.#open.size;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  /** A run that is about to be started will write into this pair: should we die in between, it is read all the same. */
  reserve(key: string, pair: FifoPair, capture: CaptureSpec): void {
    this.#journal.add({ t: "capture", key, fifos: pair.number, capture });
  }

  /** It could not be started. */
  cancel(key: string): void {
    if (this.#journal.state.captures.has(key)) this.#journal.add({ t: "drained", key });
  }

  /** A run that was reserved for writes into this pair from now on. */
  begin(key: string, pair: FifoPair, capture: CaptureSpec, former?: "killed"): void {
    this.#tell(key, { pair, capture, told: false }, former);
  }

  /** A change of where the output of a run goes. A run whose output nobody reads (its record was lost) is read again. */
  route(running: RunningRun, capture: CaptureSpec): void {
    const key = keyOf(running);
    const open = this.#open.get(key);
    const pair = open?.pair ?? this.fifos.ofProcess(running.pid);
    if (pair === undefined) return;
    this.reserve(key, pair, capture);
    if (open === undefined) return this.begin(key, pair, capture, "killed");
    this.#open.set(key, { ...open, capture });
    if (!this.#former?.reads(key)) this.#logger.send({ t: "route", key, capture }, "deferred");
  }

  ended(key: string): void {
    if (this.#open.has(key) && !this.#former?.reads(key)) this.#logger.send({ t: "ended", key }, "deferred");
  }

  /** False: that is known already. */
  drained(key: string): boolean {
    const open = this.#open.get(key);
    if (open === undefined) return false;
    this.#open.delete(key);
    this.fifos.giveBack(open.pair);
    this.#journal.add({ t: "drained", key });
    return true;
  }

  /** Our own logger is there; `isFirst`: nothing was read by one of ours before. */
  loggerStarted(pid: number, isFirst: boolean): void {
    const before = this.#own;
    this.#know(pid);
    if (!isFirst) this.#takeOver(this.#open.keys(), before === undefined ? [] : [before]);
  }

  /** Goes on with what an earlier keeper had under way. Before `loggerStarted`. */
  adopt(): void {
    const { captures, running, loggers } = this.#journal.state;
    for (const [key, { fifos, capture }] of captures) {
      const pair = this.fifos.adopt(fifos, running.get(key)?.pid);
      if (pair === undefined) this.#journal.add({ t: "drained", key });
      else this.#open.set(key, { pair, capture, told: true });
    }
    this.#clearHandovers();
    const before = [...loggers.keys()];
    const { pid: own } = this.#logger.current ?? {};
    const alive = [...loggers.values()].filter(({ pid, startTime }) => isAlive(pid, startTime));
    if (own !== undefined) this.#know(own);
    if (alive.length === 0) this.#takeOver(this.#open.keys(), before);
    else this.#former = new PreviousLoggers(alive, this.#open.keys(), (keys) => this.#takeOver(keys, before));
  }

  /** The state folder was removed and is there again. */
  renew(): void {
    this.fifos.renew();
  }

  remove(): void {
    this.#former?.stop();
    for (const { pair } of this.#open.values()) this.fifos.giveBack(pair);
    this.fifos.remove();
  }

  /**
   * Written down before it is told to read anything: a keeper after us must ask it for that. But not before it has its folder: whoever
   * is written down and leaves nothing there counts as killed.
   */
  #know(pid: number): void {
    if (this.#own === pid) return;
    this.#own = pid;
    this.#logger.send({ t: "home", folder: this.#home });
    // Its channel is new: this is in it when the call returns.
    void this.#logger.flush();
    failpoint("keeper.housed");
    this.#journal.add({ t: "logger", pid, startTime: processStat(pid)?.startTime ?? "" });
    this.#journal.flush();
  }

  /** These loggers have ended: ours goes on with what they read. What they left stays until it has that: we may be killed before. */
  #takeOver(keys: Iterable<string>, pids: readonly number[]): void {
    const handover = readHandover(this.#home, pids);
    failpoint("keeper.took");
    this.#retell(keys, handover);
    void this.#logger.flush().then(() => {
      failpoint("keeper.retold");
      for (const pid of pids) this.#journal.add({ t: "logger-gone", pid });
      this.#journal.flush();
      this.#clearHandovers();
    });
  }

  #clearHandovers(): void {
    clearHandovers(this.#home, this.#journal.state.loggers.keys());
  }

  /** To a logger that has begun anew: all that is under way, and what became of the line that its predecessor was reading. */
  #retell(keys: Iterable<string>, handover: LoggerHandover): void {
    for (const key of [...keys]) {
      const open = this.#open.get(key);
      if (open === undefined || this.#former?.reads(key)) continue;
      this.#tell(key, open, open.told ? handover(key) : undefined);
      if (!this.#journal.state.running.has(key)) this.#logger.send({ t: "ended", key }, "deferred");
    }
  }

  #tell(key: string, { pair, capture, told }: OpenCapture, former: "killed" | BegunRun | undefined): void {
    this.#open.set(key, { pair, capture, told: told || this.#logger.isUp });
    this.#logger.send({ t: "open", key, ...pathsOf(pair), capture, ...(former === undefined ? {} : { former }) }, "deferred");
  }
}
