/** All that the keeper holds once the state folder is known: children, FIFOs, journal, lock. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import type { FromKeeper, Running, Signal, ToKeeper } from "../contract/keeper-protocol.ts";
import type { Capture, FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import { makeFolder } from "../os/folder.ts";
import { type Lock, takeLock } from "../os/lock.ts";
import { isAlive, type ProcessStat, processStat } from "../os/process-stat.ts";
import { signalIfThere } from "../os/signal.ts";
import { markedProcesses } from "../os/strays.ts";
import type { Attendant } from "./attendant.ts";
import { Cgroups } from "./cgroups.ts";
import { Children } from "./children.ts";
import { keyOf } from "./entry.ts";
import { Fifos, type Pair, pathsOf } from "./fifos.ts";
import { FormerLogger } from "./former-logger.ts";
import { foundRuns } from "./found.ts";
import { Journal } from "./journal.ts";

export type StateOptions = {
  readonly stateDir: string;
  /** The end of every `PROCMAN_RUN_ID` of this state folder. */
  readonly mark: string;
  /** How many FIFO pairs will be asked for at first. */
  readonly captures: number;
  readonly service: Attendant<FromKeeper, ToKeeper>;
  readonly logger: Attendant<ToLogger, FromLogger>;
};

type Open = { readonly pair: Pair; readonly capture: Capture };

export class State {
  readonly #options: StateOptions;
  #lock: Lock;
  readonly #journal: Journal;
  readonly #fifos: Fifos;
  readonly #cgroups: Cgroups;
  readonly #children: Children;
  #former: FormerLogger | undefined;
  /** Output under way, by run; it may outlast the run. */
  readonly #open = new Map<string, Open>();
  /** How many processes of an earlier keeper go on. */
  adopted = 0;

  /** @throws ProcmanError `already-running` */
  constructor(options: StateOptions) {
    const { stateDir } = options;
    this.#options = options;
    makeFolder(stateDir, 0o700);
    this.#lock = lockOf(stateDir);
    const run = join(stateDir, "run");
    const hasRecords = existsSync(join(run, "journal")) || endedInOrder(run);
    this.#journal = new Journal(join(run, "journal"), warn);
    this.#fifos = new Fifos(join(run, "fifos"));
    this.#cgroups = new Cgroups(`procman-${options.mark}`, warn);
    this.#children = new Children(
      { fifos: this.#fifos, cgroups: this.#cgroups },
      {
        spawned: (running, pair, { capture }) => {
          const key = keyOf(running);
          if (pair !== undefined && capture !== undefined) {
            this.#open.set(key, { pair, capture });
            this.#journal.add({ t: "capture", key, fifos: pair.number, capture });
            options.logger.send({ t: "open", key, ...pathsOf(pair), capture });
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
    this.#adopt(hasRecords ? [] : foundRuns(options.mark));
    // A failure meets the first run that needs one again, and is told with that run's name.
    if (options.captures > this.#open.size) this.#fifos.fill(options.captures - this.#open.size).catch(() => undefined);
    this.flush();
  }

  get folder(): string {
    return this.#options.stateDir;
  }

  /** Nobody has removed the lock, the journal or the folder of FIFOs. */
  get isThere(): boolean {
    return this.#lock.holds() && this.#journal.isThere && this.#fifos.isThere;
  }

  /** Makes anew what somebody has removed. @throws ProcmanError `already-running` */
  renew(): void {
    const { stateDir } = this.#options;
    makeFolder(stateDir, 0o700);
    if (!this.#lock.holds()) this.#lock = lockOf(stateDir);
    this.#fifos.renew();
    this.#journal.renew();
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

  command(message: Exclude<ToKeeper, { readonly t: "open" | "logger" | "pong" | "stopping" | "end" }>): void {
    switch (message.t) {
      case "spawn":
        return this.#spawn(message);
      case "signal":
        return this.#children.signal(message, message.signal);
      case "note":
        return this.#journal.add({ t: "note", id: message.id, note: message.note });
      case "ack":
        return this.#journal.add({ t: "ack", slot: message.slot, run: message.run });
      default:
        return message satisfies never;
    }
  }

  /** Asked for twice, by a service that was started again: the answer is what became of it the first time. */
  #spawn(message: ToKeeper & { readonly t: "spawn" }): void {
    const { running, ended } = this.#journal.books;
    const known = running.get(keyOf(message));
    if (known !== undefined) this.#options.service.send({ t: "spawned", ...known });
    else if (!ended.has(keyOf(message))) this.#children.spawn(message);
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
      logger.send({ t: "open", key, ...pathsOf(open.pair), capture: open.capture });
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
    this.#lock.release();
  }

  /** Goes on where an earlier keeper was killed. */
  #adopt(found: readonly Running[]): void {
    const { running, captures, logger } = this.#journal.books;
    for (const record of found) this.#journal.add({ t: "run", record });
    for (const [key, { fifos, capture }] of captures) {
      const pair = this.#fifos.adopt(fifos, running.get(key)?.pid);
      if (pair === undefined) this.#journal.add({ t: "drained", key });
      else this.#open.set(key, { pair, capture });
    }
    if (logger !== undefined && isAlive(logger.pid, logger.startTime))
      this.#former = new FormerLogger(logger, this.#open.keys(), (keys) => this.retellLogger(keys));
    for (const record of running.values()) this.#children.adopt(record);
    if (running.size > 0) this.#children.checkAdopted();
    this.adopted = this.#children.running.length;
    this.retellLogger();
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

/** An orderly end leaves an empty folder. None at all is a first start, or somebody has removed it. */
function endedInOrder(run: string): boolean {
  return existsSync(run) && readdirSync(run).length === 0;
}

function lockOf(stateDir: string): Lock {
  const lock = takeLock(stateDir);
  if ("release" in lock) return lock;
  throw new ProcmanError(
    "already-running",
    `procman is already running with this state folder (pid ${lock.pid}, ${stateDir}); stop it with "kill ${lock.pid}" first`,
  );
}

function warn(problem: string): void {
  process.stderr.write(`procman: ${problem}\n`);
}
