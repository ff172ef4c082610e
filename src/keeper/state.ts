/** All that the keeper holds once the state folder is known: children, FIFOs, journal, lock. */
import { join } from "node:path";
import type { FromKeeper, Signal, ToKeeper } from "../contract/keeper-protocol.ts";
import type { Capture, FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import type { Lock } from "../os/lock.ts";
import { isAlive, type ProcessStat, processStat } from "../os/process-stat.ts";
import { signalIfThere } from "../os/signal.ts";
import { markedProcesses } from "../os/strays.ts";
import type { Attendant } from "./attendant.ts";
import { Cgroups } from "./cgroups.ts";
import { Children } from "./children.ts";
import { Fifos, type Pair } from "./fifos.ts";
import { FormerLogger } from "./former-logger.ts";
import { Journal, keyOf } from "./journal.ts";

export type StateOptions = {
  readonly folder: string;
  /** The end of every `PROCMAN_RUN_ID` of this state folder. */
  readonly mark: string;
  readonly lock: Lock;
  /** How many FIFO pairs will be asked for at first. */
  readonly captures: number;
  readonly service: Attendant<FromKeeper, ToKeeper>;
  readonly logger: Attendant<ToLogger, FromLogger>;
};

type Open = { readonly pair: Pair; readonly capture: Capture };

export class State {
  readonly #options: StateOptions;
  readonly #journal: Journal;
  readonly #fifos: Fifos;
  readonly #cgroups: Cgroups;
  readonly #children: Children;
  #former: FormerLogger | undefined;
  /** Output under way, by run; it may outlast the run. */
  readonly #open = new Map<string, Open>();

  constructor(options: StateOptions) {
    this.#options = options;
    this.#journal = new Journal(join(options.folder, "journal"), warn);
    this.#fifos = new Fifos(join(options.folder, "fifos"));
    this.#cgroups = new Cgroups(`procman-${options.mark}`, warn);
    this.#children = new Children(
      { fifos: this.#fifos, cgroups: this.#cgroups },
      {
        spawned: (running, pair, { capture }) => {
          const key = keyOf(running);
          if (pair !== undefined && capture !== undefined) {
            this.#open.set(key, { pair, capture });
            this.#journal.add({ t: "capture", key, fifos: pair.number, capture });
            options.logger.send({ t: "open", key, out: pair.out, err: pair.err, capture });
          }
          this.#journal.add({ t: "run", record: running });
          options.service.send({ t: "spawned", ...running });
        },
        failed: (failed) => this.#over({ t: "failed", ...failed }),
        exited: (exited) => {
          this.#over({ t: "exited", ...exited });
          const key = keyOf(exited);
          if (this.#open.has(key) && !this.#former?.reads(key)) options.logger.send({ t: "ended", key });
        },
        turnEnds: () => this.flush(),
      },
    );
    this.#adopt();
    // A failure meets the first run that needs one again, and is told with that run's name.
    if (options.captures > this.#open.size) this.#fifos.fill(options.captures - this.#open.size).catch(() => undefined);
    this.flush();
  }

  /** Nobody runs, and nobody was left behind by a run. */
  get isEmpty(): boolean {
    return this.#children.running.length === 0 && this.#strays().length === 0;
  }

  snapshot(): Omit<FromKeeper & { readonly t: "snapshot" }, "t"> {
    const { ended, notes } = this.#journal.books;
    return {
      running: this.#children.running.map(({ slot, run, pid, startTime, since }) => ({ slot, run, pid, startTime, since })),
      ended: [...ended.values()],
      notes: Object.fromEntries(notes),
      ...(this.#cgroups.folder === undefined ? {} : { cgroups: this.#cgroups.folder }),
    };
  }

  command(message: Exclude<ToKeeper, { readonly t: "open" | "logger" | "stopping" | "end" }>): void {
    switch (message.t) {
      case "spawn":
        return this.#journal.books.ended.has(keyOf(message)) ? undefined : this.#children.spawn(message);
      case "signal":
        return this.#children.signal(message, message.signal);
      case "route":
        return this.#route(message);
      case "note":
        return this.#journal.add({ t: "note", id: message.id, note: message.note });
      case "ack":
        return this.#journal.add({ t: "ack", slot: message.slot, run: message.run });
      default:
        return message satisfies never;
    }
  }

  /** To all that runs, and to whoever carries the mark outside of those groups. */
  signalAll(signal: Signal): void {
    this.#children.signalAll(signal);
    for (const { pid } of this.#strays()) signalIfThere(pid, signal);
  }

  drained(key: string): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#open.delete(key);
    this.#fifos.giveBack(open.pair);
    this.#journal.add({ t: "drained", key });
    // The last holder of its output is gone: so is, most likely, the run.
    if (this.#journal.books.running.has(key)) this.#children.checkAdopted();
  }

  loggerStarted(pid: number): void {
    this.#journal.add({ t: "logger", pid, startTime: processStat(pid)?.startTime ?? "" });
  }

  /** A logger that was started again gets all that is under way. */
  retellLogger(keys: Iterable<string> = this.#open.keys()): void {
    const { logger } = this.#options;
    for (const key of keys) {
      const open = this.#open.get(key);
      if (open === undefined || this.#former?.reads(key)) continue;
      logger.send({ t: "open", key, out: open.pair.out, err: open.pair.err, capture: open.capture });
      if (!this.#journal.books.running.has(key)) logger.send({ t: "ended", key });
    }
  }

  flush(): void {
    this.#journal.flush();
  }

  /** Nothing runs any more and nobody shall go on from here. */
  remove(): void {
    this.#former?.stop();
    for (const { pair } of this.#open.values()) this.#fifos.giveBack(pair);
    this.#fifos.remove();
    this.#cgroups.remove();
    this.#journal.remove();
    this.#options.lock.release();
  }

  /** Goes on where an earlier keeper was killed. */
  #adopt(): void {
    const { running, captures, logger } = this.#journal.books;
    for (const [key, { fifos, capture }] of captures) {
      const pair = this.#fifos.adopt(fifos);
      if (pair === undefined) this.#journal.add({ t: "drained", key });
      else this.#open.set(key, { pair, capture });
    }
    if (logger !== undefined && isAlive(logger.pid, logger.startTime))
      this.#former = new FormerLogger(logger, this.#open.keys(), (keys) => this.retellLogger(keys));
    for (const record of running.values()) this.#children.adopt(record);
    if (running.size > 0) this.#children.checkAdopted();
    this.retellLogger();
  }

  #route({ slot, run, capture }: ToKeeper & { readonly t: "route" }): void {
    const key = keyOf({ slot, run });
    const open = this.#open.get(key);
    if (open === undefined) return;
    this.#open.set(key, { pair: open.pair, capture });
    this.#journal.add({ t: "capture", key, fifos: open.pair.number, capture });
  }

  #strays(): readonly ProcessStat[] {
    const groups = new Set(this.#children.running.map(({ pid }) => pid));
    return markedProcesses(this.#options.mark).filter(({ group }) => !groups.has(group));
  }

  #over(report: FromKeeper & { readonly t: "exited" | "failed" }): void {
    this.#journal.add({ t: "end", record: report });
    this.#options.service.send(report);
  }
}

function warn(problem: string): void {
  process.stderr.write(`procman: ${problem}\n`);
}
