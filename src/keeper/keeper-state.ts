/** What the keeper holds once the state folder is known: lock, journal, children and their captures. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import type { EndReport, FromKeeper, RunKey, Signal, ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint } from "../os/failpoint.ts";
import { makeFolder } from "../os/files.ts";
import { endedInOrder } from "../os/keeper-failover.ts";
import { type Lock, takeLock } from "../os/lock.ts";
import { signalIfThere } from "../os/process-signal.ts";
import type { ProcessStat } from "../os/process-stat.ts";
import { markedProcesses } from "../os/process-tree.ts";
import { Captures } from "./captures.ts";
import { Children, foundRuns } from "./children.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import { Journal, keyOf } from "./journal.ts";
import type { ListeningSockets } from "./listening-sockets.ts";
import { warn } from "./log.ts";
import { MemoryCgroups } from "./memory-cgroups.ts";
import type { RestartingProcess } from "./restarting-process.ts";
import { spawnedReport } from "./spawn.ts";

export type KeeperStateOptions = {
  readonly stateDir: string;
  /** The end of every `PROCMAN_RUN_ID` of this state folder. */
  readonly marker: string;
  /** It was started by failover, not by a user. */
  readonly isFailover: boolean;
  readonly service: RestartingProcess<FromKeeper, ToKeeper>;
  readonly logger: RestartingProcess<ToLogger, FromLogger>;
  readonly sockets: ListeningSockets;
  readonly deferred: DeferredQueue;
};

/** In the state folder while the service stays down: the reason. */
const DOWN_FILE = "service-down";

export class KeeperState {
  readonly #options: KeeperStateOptions;
  #lock: Lock;
  readonly journal: Journal;
  readonly #cgroups: MemoryCgroups;
  readonly #children: Children;
  readonly captures: Captures;
  /** Number of processes of an earlier keeper that were adopted. */
  readonly adopted: number;

  /** @throws ProcmanError `already-running` */
  constructor(options: KeeperStateOptions) {
    const { stateDir, marker } = options;
    this.#options = options;
    makeFolder(stateDir, 0o700);
    this.#lock = lockOf(stateDir);
    failpoint("keeper.locked");
    const run = join(stateDir, "run");
    const isClean = endedInOrder(stateDir);
    if (isClean && options.isFailover) {
      this.#lock.release();
      throw new ProcmanError(
        "no-daemon",
        'procman was killed, was replaced by failover and has been stopped since; start it with "procman run"',
      );
    }
    this.journal = new Journal(join(run, "journal"), warn, options.deferred);
    this.captures = new Captures(run, this.journal, options.logger);
    this.#cgroups = new MemoryCgroups(`procman-${marker}`, (report) => options.service.send(report));
    this.#children = this.#newChildren();
    if (!isClean) this.#adopt();
    failpoint("keeper.adopted");
    this.adopted = this.#children.running.length;
    this.serviceIsUp();
    this.flush();
  }

  get folder(): string {
    return this.#options.stateDir;
  }

  /** False once the lock, the journal or the folder of FIFOs was removed. */
  get isIntact(): boolean {
    return this.#lock.holds() && this.journal.isIntact && this.captures.fifos.exists;
  }

  /** Recreates what was removed. @throws ProcmanError `already-running` */
  recreate(): void {
    makeFolder(this.folder, 0o700);
    if (!this.#lock.holds()) this.#lock = lockOf(this.folder);
    this.captures.recreate();
    this.journal.recreate();
  }

  /** No run and no process left behind by one. */
  get isEmpty(): boolean {
    return this.#children.running.length === 0 && this.#markedOutsideGroups().length === 0;
  }

  /** Makes FIFO pairs for this many captures in advance. */
  prepareFifos(captures: number): void {
    const { count, fifos } = this.captures;
    // A failure is reported by the first run that needs a pair.
    if (captures > count) fifos.fill(captures - count).catch(() => undefined);
  }

  /** Runs are started once `releaseRuns` was called, or after this time. */
  holdRuns(limitMs: number): void {
    this.#children.hold();
    setTimeout(() => this.releaseRuns(), limitMs).unref();
  }

  releaseRuns(): void {
    this.#children.release();
  }

  /** What a service needs to begin. Clears the restart orders; the service gives new ones. */
  snapshot(): Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage"> {
    const { ended, notes, running } = this.journal.state;
    this.#children.restartOrders.clear();
    return {
      running: [...running.values()].map((record) => ({ ...record, captured: this.captures.has(keyOf(record)) })),
      ended: [...ended.values()],
      notes: Object.fromEntries(notes),
      ...(this.#cgroups.folder === undefined ? {} : { cgroups: this.#cgroups.folder }),
    };
  }

  execute(
    message: Extract<ToKeeper, { readonly t: "spawn" | "prepare" | "unprepare" | "signal" | "drain" | "route" | "note" | "ack" }>,
  ): void {
    switch (message.t) {
      case "spawn":
        return this.#spawn(message);
      case "prepare":
        return this.#children.prepare(message);
      case "unprepare":
        return this.#children.restartOrders.cancel(message);
      case "signal":
        return this.#children.signal(message, message.signal);
      case "drain":
        return this.#children.drain(message, message.signal);
      case "route": {
        const running = this.journal.state.running.get(keyOf(message));
        return running === undefined ? undefined : this.captures.route(running, message.capture);
      }
      case "note":
        return this.journal.add({ t: "note", id: message.id, note: message.note });
      case "ack":
        return this.journal.add({ t: "ack", slot: message.slot, run: message.run });
      default:
        return message satisfies never;
    }
  }

  /** To all runs, and to processes with the marker outside of their groups. */
  signalAll(signal: Signal): void {
    this.#children.signalAll(signal);
    for (const { pid } of this.#markedOutsideGroups()) signalIfThere(pid, signal);
  }

  drained(key: string): void {
    // The last holder of its output is gone: most likely the run has ended.
    if (this.captures.drained(key) && this.journal.state.running.has(key)) this.#children.checkAdopted();
  }

  flush(): void {
    this.journal.flush();
  }

  /** Commands read the reason while the service stays down. */
  serviceIsDown(reason: string): void {
    writeFileSync(join(this.folder, DOWN_FILE), `${reason}\n`, { mode: 0o600 });
  }

  serviceIsUp(): void {
    if (existsSync(join(this.folder, DOWN_FILE))) rmSync(join(this.folder, DOWN_FILE), { force: true });
  }

  /** Nothing runs any more, and no later keeper shall continue from here. */
  remove(): void {
    this.captures.remove();
    this.#cgroups.remove();
    this.journal.remove();
    failpoint("keeper.removed");
    this.serviceIsUp();
    this.#lock.release();
  }

  #newChildren(): Children {
    const { service, sockets, deferred } = this.#options;
    return new Children(
      { fifos: this.captures.fifos, cgroups: this.#cgroups, sockets, deferred },
      {
        starting: ({ slot, run, capture }, pair) => {
          this.journal.add({ t: "asked", slot, run });
          if (pair !== undefined && capture !== undefined) this.captures.reserve(keyOf({ slot, run }), pair, capture);
          this.flush();
        },
        spawned: (running, pair, { capture }) => {
          if (pair !== undefined && capture !== undefined) this.captures.begin(keyOf(running), pair, capture);
          this.journal.addDeferred({ t: "run", record: running });
          service.send(spawnedReport(running), "deferred");
        },
        failed: (failed) => {
          this.captures.cancel(keyOf(failed));
          this.#reportEnd({ t: "failed", ...failed });
        },
        exited: (exited) => {
          this.#reportEnd({ t: "exited", ...exited });
          this.captures.ended(keyOf(exited));
        },
      },
    );
  }

  /** A restarted service may ask twice: the answer is the result of the first request. */
  #spawn(message: ToKeeper & { readonly t: "spawn" }): void {
    const { running, ended } = this.journal.state;
    const known = running.get(keyOf(message));
    if (known !== undefined) this.#options.service.send(spawnedReport(known));
    else if (!ended.has(keyOf(message))) this.#children.spawn(message);
  }

  /** Adopts the runs of a killed keeper, also one that was killed between the fork of a process and its record. */
  #adopt(): void {
    const { starting, running, ended } = this.journal.state;
    for (const record of foundRuns(this.#options.marker)) {
      const known = [...running.values(), ...ended.values()].some(({ slot, run }) => slot === record.slot && run >= record.run);
      if (known) continue;
      this.journal.add({ t: "run", record });
      this.captures.fifos.reserveNumberOf(record.pid);
    }
    // No process carries this run's marker, although its start was recorded: most likely it started and exited. Don't start it twice.
    for (const key of [...starting.values()]) this.journal.add({ t: "end", record: this.#endOfUnseen(key) });
    this.captures.adopt();
    for (const record of running.values()) this.#children.adopt(record);
    if (running.size > 0) this.#children.checkAdopted();
  }

  #endOfUnseen({ slot, run }: RunKey): EndReport {
    const [left] = markedProcesses(this.#options.marker, `${slot}.${run}`);
    const how = { code: null, signal: null, unknown: true, survivors: left !== undefined };
    return { t: "exited", slot, run, pid: left?.group ?? 0, ...how, at: monotonicMs() };
  }

  #markedOutsideGroups(): readonly ProcessStat[] {
    const groups = new Set(this.#children.running.map(({ pid }) => pid));
    return markedProcesses(this.#options.marker).filter(({ group }) => !groups.has(group));
  }

  #reportEnd(report: FromKeeper & { readonly t: "exited" | "failed" }): void {
    // The service decides while the rest is done here. The start of a restart order comes first.
    this.#options.service.send(report, report.t === "exited" && report.followed ? "deferred" : "now");
    this.journal.add({ t: "end", record: report });
    failpoint("keeper.over");
    // Needed when no service is up, whose answer would be flushed.
    setImmediate(() => this.flush());
  }
}

/** One keeper for each state folder. @throws {ProcmanError} `already-running` */
function lockOf(stateDir: string): Lock {
  const lock = takeLock(stateDir);
  if ("release" in lock) return lock;
  throw new ProcmanError(
    "already-running",
    `procman is already running with this state folder (pid ${lock.pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
