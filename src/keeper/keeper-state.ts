/** All that the keeper holds once the state folder is known: lock, journal, children and their output. */
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
import type { RestartingProcess } from "./internal-process.ts";
import { Journal, keyOf } from "./journal.ts";
import type { ListeningSockets } from "./listening-sockets.ts";
import { warn } from "./log.ts";
import { MemoryCgroups } from "./memory-cgroups.ts";
import { spawnedOf } from "./spawn.ts";

export type KeeperStateOptions = {
  readonly stateDir: string;
  /** The end of every `PROCMAN_RUN_ID` of this state folder. */
  readonly mark: string;
  /** It comes in place of a killed keeper: nobody asked for a start. */
  readonly isRevival: boolean;
  readonly service: RestartingProcess<FromKeeper, ToKeeper>;
  readonly logger: RestartingProcess<ToLogger, FromLogger>;
  readonly sockets: ListeningSockets;
  readonly deferred: DeferredQueue;
};

/** In the state folder while the service stays down: why. */
const DOWN = "service-down";

export class KeeperState {
  readonly #options: KeeperStateOptions;
  #lock: Lock;
  readonly journal: Journal;
  readonly #cgroups: MemoryCgroups;
  readonly #children: Children;
  readonly outputs: Captures;
  /** How many processes of an earlier keeper go on. */
  readonly adopted: number;

  /** @throws ProcmanError `already-running` */
  constructor(options: KeeperStateOptions) {
    const { stateDir, mark } = options;
    this.#options = options;
    makeFolder(stateDir, 0o700);
    this.#lock = lockOf(stateDir);
    failpoint("keeper.locked");
    const run = join(stateDir, "run");
    const isClean = endedInOrder(stateDir);
    if (isClean && options.isRevival) {
      this.#lock.release();
      throw new ProcmanError("no-daemon", 'procman was killed, came back and was stopped in order meanwhile; start it with "procman run"');
    }
    this.journal = new Journal(join(run, "journal"), warn, options.deferred);
    this.outputs = new Captures(run, this.journal, options.logger);
    this.#cgroups = new MemoryCgroups(`procman-${mark}`, (word) => options.service.send(word));
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

  /** Nobody has removed the lock, the journal or the folder of FIFOs. */
  get isThere(): boolean {
    return this.#lock.holds() && this.journal.isThere && this.outputs.fifos.isThere;
  }

  /** Makes anew what somebody has removed. @throws ProcmanError `already-running` */
  renew(): void {
    makeFolder(this.folder, 0o700);
    if (!this.#lock.holds()) this.#lock = lockOf(this.folder);
    this.outputs.renew();
    this.journal.renew();
  }

  /** Nobody runs, and nobody was left behind by a run. */
  get isEmpty(): boolean {
    return this.#children.running.length === 0 && this.#strays().length === 0;
  }

  /** So many FIFO pairs will be asked for at first. */
  expect(captures: number): void {
    const { count, fifos } = this.outputs;
    // A failure meets the first run that needs one again, and is told with that run's name.
    if (captures > count) fifos.fill(captures - count).catch(() => undefined);
  }

  /** What a service needs to begin; it prepares runs anew. */
  snapshot(): Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage"> {
    const { ended, notes, running } = this.journal.state;
    this.#children.prepared.clear();
    return {
      running: [...running.values()].map((record) => ({ ...record, captured: this.outputs.has(keyOf(record)) })),
      ended: [...ended.values()],
      notes: Object.fromEntries(notes),
      ...(this.#cgroups.folder === undefined ? {} : { cgroups: this.#cgroups.folder }),
    };
  }

  command(
    message: Extract<ToKeeper, { readonly t: "spawn" | "prepare" | "unprepare" | "signal" | "drain" | "route" | "note" | "ack" }>,
  ): void {
    switch (message.t) {
      case "spawn":
        return this.#spawn(message);
      case "prepare":
        return this.#children.prepare(message);
      case "unprepare":
        return this.#children.prepared.cancel(message);
      case "signal":
        return this.#children.signal(message, message.signal);
      case "drain":
        return this.#children.drain(message, message.signal);
      case "route": {
        const running = this.journal.state.running.get(keyOf(message));
        return running === undefined ? undefined : this.outputs.route(running, message.capture);
      }
      case "note":
        return this.journal.add({ t: "note", id: message.id, note: message.note });
      case "ack":
        return this.journal.add({ t: "ack", slot: message.slot, run: message.run });
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
    // The last holder of its output is gone: so is, most likely, the run.
    if (this.outputs.drained(key) && this.journal.state.running.has(key)) this.#children.checkAdopted();
  }

  flush(): void {
    this.journal.flush();
  }

  /** For those who ask while the service stays down. */
  serviceIsDown(reason: string): void {
    writeFileSync(join(this.folder, DOWN), `${reason}\n`, { mode: 0o600 });
  }

  serviceIsUp(): void {
    if (existsSync(join(this.folder, DOWN))) rmSync(join(this.folder, DOWN), { force: true });
  }

  /** Nothing runs any more and nobody shall go on from here. */
  remove(): void {
    this.outputs.remove();
    this.#cgroups.remove();
    this.journal.remove();
    failpoint("keeper.removed");
    this.serviceIsUp();
    this.#lock.release();
  }

  #newChildren(): Children {
    const { service, sockets, deferred } = this.#options;
    return new Children(
      { fifos: this.outputs.fifos, cgroups: this.#cgroups, sockets, deferred },
      {
        starting: ({ slot, run, capture }, pair) => {
          this.journal.add({ t: "asked", slot, run });
          if (pair !== undefined && capture !== undefined) this.outputs.reserve(keyOf({ slot, run }), pair, capture);
          this.flush();
        },
        spawned: (running, pair, { capture }) => {
          if (pair !== undefined && capture !== undefined) this.outputs.begin(keyOf(running), pair, capture);
          this.journal.addDeferred({ t: "run", record: running });
          service.send(spawnedOf(running), "deferred");
        },
        failed: (failed) => {
          this.outputs.cancel(keyOf(failed));
          this.#over({ t: "failed", ...failed });
        },
        exited: (exited) => {
          this.#over({ t: "exited", ...exited });
          this.outputs.ended(keyOf(exited));
        },
      },
    );
  }

  /** Asked for twice, by a service that was started again: the answer is what became of it the first time. */
  #spawn(message: ToKeeper & { readonly t: "spawn" }): void {
    const { running, ended } = this.journal.state;
    const known = running.get(keyOf(message));
    if (known !== undefined) this.#options.service.send(spawnedOf(known));
    else if (!ended.has(keyOf(message))) this.#children.spawn(message);
  }

  /** Goes on where an earlier keeper was killed: perhaps between the birth of a process and its record. */
  #adopt(): void {
    const { asked, running, ended } = this.journal.state;
    for (const record of foundRuns(this.#options.mark)) {
      const known = [...running.values(), ...ended.values()].some(({ slot, run }) => slot === record.slot && run >= record.run);
      if (known) continue;
      this.journal.add({ t: "run", record });
      this.outputs.fifos.avoid(record.pid);
    }
    // Nobody is there of a run that was about to be started: it was, most likely, and is over. Once more would be once too often.
    for (const key of [...asked.values()]) this.journal.add({ t: "end", record: this.#unseen(key) });
    this.outputs.adopt();
    for (const record of running.values()) this.#children.adopt(record);
    if (running.size > 0) this.#children.checkAdopted();
  }

  #unseen({ slot, run }: RunKey): EndReport {
    const [left] = markedProcesses(this.#options.mark, `${slot}.${run}`);
    const how = { code: null, signal: null, unknown: true, survivors: left !== undefined };
    return { t: "exited", slot, run, pid: left?.group ?? 0, ...how, at: monotonicMs() };
  }

  #strays(): readonly ProcessStat[] {
    const groups = new Set(this.#children.running.map(({ pid }) => pid));
    return markedProcesses(this.#options.mark).filter(({ group }) => !groups.has(group));
  }

  #over(report: FromKeeper & { readonly t: "exited" | "failed" }): void {
    // While it decides what follows, the rest is done here. What was decided before is done first.
    this.#options.service.send(report, report.t === "exited" && report.followed ? "deferred" : "now");
    this.journal.add({ t: "end", record: report });
    failpoint("keeper.over");
    // Also when no service is there, whose answer would be written.
    setImmediate(() => this.flush());
  }
}

/** One keeper a state folder. */

/** @throws {ProcmanError} `already-running` */
function lockOf(stateDir: string): Lock {
  const lock = takeLock(stateDir);
  if ("release" in lock) return lock;
  throw new ProcmanError(
    "already-running",
    `procman is already running with this state folder (pid ${lock.pid}, ${stateDir}); stop it with "procman terminate" first`,
  );
}
