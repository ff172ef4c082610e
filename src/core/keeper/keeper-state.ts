/** What the keeper holds once the state folder is known: lock, journal, children and their captures. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { fingerprint } from "../base/hash.ts";
import { RunMarkers } from "../base/run-marker.ts";
import type {
  EndReport,
  FromKeeper,
  RunKey,
  RunningRun,
  Signal,
  StopMessage,
  ToKeeper,
} from "../ipc/keeper-protocol.ts";
import { type FromLogger, keyOf, type ToLogger } from "../ipc/logger-protocol.ts";
import { removeUnfinished } from "../os/careful-files.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint } from "../os/failpoint.ts";
import { namesIfSeen, removeIfAllowed } from "../os/files.ts";
import { endedInOrder, endingFile } from "../os/keeper-failover.ts";
import {
  copyNotice,
  type Holder,
  holderOf,
  inUseText,
  type Lock,
  type LockOptions,
  originOfRecords,
  takeLock,
} from "../os/lock.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { DYING_MS, isDying } from "../os/process-stat.ts";
import { type MarkedProcess, markedProcesses, type UidOfSlot } from "../os/process-tree.ts";
import { randomHex } from "../os/random-key.ts";
import { unlessShort } from "../os/shortage.ts";
import { makeStateFolder } from "../os/state-folder.ts";
import { Captures } from "./captures.ts";
import type { Channel } from "./channel.ts";
import { Children, foundRun, foundRuns } from "./children.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import type { ListeningSockets } from "./listening-sockets.ts";
import { warn } from "./log.ts";
import { RunCgroups } from "./run-cgroups.ts";
import { spawnedReport } from "./spawn.ts";

export type KeeperStateOptions = {
  readonly stateDir: string;
  /** The configuration file. */
  readonly file: string | undefined;
  /** The user of a slot, where the configuration names one. */
  readonly uidOf: UidOfSlot;
  /** Whether this keeper was started by failover, not by a user. */
  readonly isFailover: boolean;
  readonly lineage: string;
  readonly service: Channel<FromKeeper, ToKeeper>;
  readonly logger: Channel<ToLogger, FromLogger>;
  readonly sockets: ListeningSockets;
  readonly deferred: DeferredQueue;
};

const MARKER_KEY_BYTES = 16;
/** Looks for processes to stop before they are killed. */
const MAX_STOPS = 50;
/** How often a lock is looked at whose holder is about to end. Milliseconds. */
const LOCK_POLL_MS = 10;
const NOTHING = new Int32Array(new SharedArrayBuffer(4));

/** Note of this keeper itself: the stops that it is about to carry out. */
const STOPS_NOTE = ":stops";

/** In the state folder while the service stays down: the reason. */
const DOWN_FILE = "service-down";

export class KeeperState {
  readonly #options: KeeperStateOptions;
  #lock: Lock;
  readonly journal: Journal;
  readonly #markers: RunMarkers;
  readonly #hookMarkers: RunMarkers;
  readonly #cgroups: RunCgroups;
  readonly #children: Children;
  readonly captures: Captures;
  /** Number of processes of an earlier keeper that were adopted. */
  readonly adopted: number;

  /** @throws ProcmanError `already-running` */
  constructor(options: KeeperStateOptions) {
    const { stateDir } = options;
    this.#options = options;
    makeStateFolder(stateDir);
    // Before it has a lock itself.
    const isClean = endedInOrder(stateDir);
    const origin = originOfRecords(stateDir);
    for (const folder of ["", "run", "incidents", "logs"]) removeUnfinished(join(stateDir, folder));
    this.#lock = lockOf(stateDir, options);
    failpoint("keeper.locked");
    const run = join(stateDir, "run");
    if (origin !== undefined) startAsNew(stateDir, origin);
    if (isClean && options.isFailover) {
      this.#lock.release();
      throw new ProcmanError(
        "no-daemon",
        'procman was killed, was replaced by failover and has been stopped since; start it with "procman run"',
      );
    }
    rmSync(endingFile(stateDir), { force: true });
    this.journal = new Journal(join(run, "journal"), warn, options.deferred);
    const { key = randomHex(MARKER_KEY_BYTES) } = this.journal.state.marker;
    if (this.journal.state.marker.key === undefined) this.journal.add({ t: "marker-key", key });
    this.#markers = new RunMarkers(stateDir, key);
    this.#hookMarkers = new RunMarkers(stateDir, key, "PROCMAN_HOOK_ID");
    this.captures = new Captures(run, this.journal, options.logger);
    this.#cgroups = new RunCgroups(`procman-${fingerprint(stateDir)}`, (report) => options.service.send(report));
    this.#children = this.#newChildren();
    if (!isClean) this.#adopt();
    this.#repeatStops();
    failpoint("keeper.adopted");
    this.adopted = this.#children.running.length;
    this.serviceIsUp();
    this.flush();
  }

  /** Pids of the leaders of all runs. */
  get leaders(): readonly number[] {
    return this.#children.running.map(({ pid }) => pid);
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
    makeStateFolder(this.folder);
    const isLost = !this.#lock.holds();
    const holder = isLost ? holderOf(this.folder) : undefined;
    if (holder !== undefined && holder.pid !== process.pid)
      throw alreadyRunning(holder, this.folder, this.#options.file);
    // Before the lock: if this keeper is killed then, the next one continues from all that it knew.
    this.captures.recreate();
    this.journal.recreate();
    if (isLost) this.#lock = lockOf(this.folder, { ...this.#options, isAgain: true });
  }

  /** No run, no hook and no process left behind by one. */
  get isEmpty(): boolean {
    // Twice: while the process table is read, a process may make a child that isn't in it, and end.
    const hasStrays = (): boolean => unlessShort(() => this.#strays.length > 0) ?? true;
    return this.#children.running.length === 0 && !hasStrays() && !hasStrays();
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
  snapshot(): Omit<FromKeeper & { readonly t: "snapshot" }, "t" | "lineage" | "keepsApi" | "copies"> {
    const { ended, running } = this.journal.state;
    const notes = [...this.journal.state.notes].filter(([id]) => id !== STOPS_NOTE);
    this.#children.restartOrders.clear();
    return {
      markerKey: this.#markers.key,
      running: [...running.values()].map((record) => ({ ...record, captured: this.captures.has(keyOf(record)) })),
      ended: [...ended.values()],
      notes: Object.fromEntries(notes),
      ...(this.#cgroups.folder === undefined ? {} : { cgroups: this.#cgroups.folder }),
    };
  }

  execute(
    message: Extract<
      ToKeeper,
      { readonly t: "spawn" | "prepare" | "unprepare" | "signal" | "drain" | "route" | "note" | "ack" }
    >,
  ): void {
    switch (message.t) {
      case "spawn":
        return this.#spawn(message);
      case "prepare":
        return this.#children.prepare(message);
      case "unprepare":
        return this.#children.restartOrders.cancel(message);
      case "signal":
        return this.#children.signal(message, message.signal, message.to);
      case "drain":
        return this.#children.drain(message, message.signal, message.to);
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

  /** Before they are carried out, and none after that: if this keeper is killed meanwhile, the next one sends the signals. */
  noteStops(stops: readonly StopMessage[]): void {
    this.journal.add({ t: "note", id: STOPS_NOTE, note: stops.length === 0 ? "" : JSON.stringify(stops) });
  }

  #repeatStops(): void {
    const stops: readonly StopMessage[] = JSON.parse(this.journal.state.notes.get(STOPS_NOTE) ?? "[]");
    if (stops.length === 0) return;
    for (const stop of stops) this.execute(stop);
    this.noteStops([]);
  }

  /** To all runs, and to processes with the marker outside of their groups. */
  signalAll(signal: Signal): void {
    const groups = this.#children.signalAll(signal);
    if (signal === "SIGKILL") this.#haltAll();
    for (const { pid, group } of unlessShort(() => this.#strays) ?? [])
      if (!groups.has(group)) signalIfThere(pid, signal);
  }

  /** Stops all, until none is new: a stopped process makes no more children. */
  #haltAll(): void {
    const halted = new Set<number>();
    const parts = this.#partPids();
    for (let look = 0, before = -1; look < MAX_STOPS && halted.size > before; look++) {
      before = halted.size;
      const halt = (pid: number): void => {
        if (parts.has(pid)) return;
        if (!halted.has(pid)) signalIfThere(pid, "SIGSTOP");
        halted.add(pid);
      };
      unlessShort(() =>
        [this.#markers, this.#hookMarkers].map((markers) => markedProcesses(markers, this.#options.uidOf, halt)),
      );
    }
  }

  drained(key: string): void {
    if (this.captures.drained(key)) this.#children.adopted.outputEnded(key);
  }

  flush(): void {
    this.journal.flush();
  }

  /** Commands read the reason while the service stays down. */
  serviceIsDown(reason: string): void {
    writeFileSync(join(this.folder, DOWN_FILE), `${reason}\n`, { mode: 0o600 });
  }

  serviceIsUp(): void {
    if (existsSync(join(this.folder, DOWN_FILE))) removeIfAllowed(join(this.folder, DOWN_FILE));
  }

  /** Nothing runs any more, and no later keeper shall continue from here. */
  remove(): void {
    this.#sayEnding();
    this.captures.remove();
    this.#removeFilesOfService();
    this.#cgroups.remove();
    this.journal.remove();
    failpoint("keeper.removed");
    this.serviceIsUp();
    this.#lock.release();
    removeIfAllowed(endingFile(this.folder));
  }

  /**
   * Removes what a service leaves: the files of `ready.fd`, `stdin` and `tty`, and its socket, also under the temporary
   * name `api.PID`, if it was killed right after it began to listen.
   */
  #removeFilesOfService(): void {
    const run = join(this.folder, "run");
    for (const name of namesIfSeen(run))
      if (/^(?:api\.(?:sock|\d+)|(?:ready|stdin|screen)-.+)$/.test(name)) removeIfAllowed(join(run, name));
  }

  /** Without it, a kill within the next moments would count as one amid the work, and everything would be started again. */
  #sayEnding(): void {
    try {
      writeFileSync(endingFile(this.folder), "", { mode: 0o600 });
    } catch (error) {
      warn(`Cannot write ${endingFile(this.folder)}: ${(error as Error).message}`);
    }
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
    for (const record of foundRuns(this.#marked)) {
      const known = [...running.values(), ...ended.values()].some(
        ({ slot, run }) => slot === record.slot && run >= record.run,
      );
      if (known) continue;
      this.journal.add({ t: "run", record });
      this.captures.fifos.reserveNumberOf(record.pid);
    }
    for (const key of [...starting.values()]) this.journal.add(this.#entryOfUnseen(key));
    this.captures.adopt();
    for (const record of running.values()) this.#children.adopt(record);
    // The pid of a run that has ended may be that of another program, and of its group, by now.
    const isOwn = ({ slot, run, pid }: RunningRun): boolean =>
      this.#marked.some((each) => each.slot === slot && each.run === run && each.group === pid);
    if (running.size > 0) this.#children.adopted.check(isOwn);
  }

  /**
   * A run whose start was recorded, although no process carries its marker. Either its process has overwritten its
   * environment, or has not executed the program yet: then it writes to the run's FIFOs. Or, most likely, it has ended:
   * don't start it twice.
   */
  #entryOfUnseen({ slot, run }: RunKey): JournalEntry {
    const { fifos } = this.journal.state.captures.get(keyOf({ slot, run })) ?? {};
    const writer = fifos === undefined ? undefined : this.captures.fifos.leaderOf(fifos);
    if (writer === undefined) return { t: "end", record: this.#endOfUnseen({ slot, run }) };
    return { t: "run", record: foundRun({ slot, run }, writer) };
  }

  #endOfUnseen({ slot, run }: RunKey): EndReport {
    const left = this.#marked.find((each) => each.slot === slot && each.run === run);
    const how = { code: null, signal: null, unknown: true, survivors: left !== undefined };
    return { t: "exited", slot, run, pid: left?.group ?? 0, ...how, at: monotonicMs() };
  }

  /** The processes of runs, by their markers. */
  get #marked(): readonly MarkedProcess[] {
    return this.#markedBy(this.#markers);
  }

  /** All marked processes, including those of hooks, which the service runs. */
  get #strays(): readonly MarkedProcess[] {
    return [...this.#marked, ...this.#markedBy(this.#hookMarkers)];
  }

  #markedBy(markers: RunMarkers): readonly MarkedProcess[] {
    const parts = this.#partPids();
    return markedProcesses(markers, this.#options.uidOf).filter(({ pid }) => !parts.has(pid));
  }

  /** procman's own processes: a run may have started this procman, so that they carry its marker. */
  #partPids(): ReadonlySet<number> {
    const { service, logger } = this.#options;
    return new Set([...service.pids, ...logger.pids, this.journal.state.balancer.current?.pid ?? []].flat());
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

/** The records are those of another folder. Under the lock: another keeper may have begun here. */
function startAsNew(stateDir: string, origin: string): void {
  for (const name of ["run", "endpoint.json", DOWN_FILE])
    rmSync(join(stateDir, name), { recursive: true, force: true });
  warn(copyNotice(stateDir, origin));
}

/** One keeper for each state folder. @throws {ProcmanError} `already-running` */
function lockOf(stateDir: string, options: LockOptions): Lock {
  for (const late = monotonicMs() + DYING_MS; ; Atomics.wait(NOTHING, 0, 0, LOCK_POLL_MS)) {
    const lock = takeLock(stateDir, options);
    if ("release" in lock) return lock;
    // Its holder was killed a moment ago.
    if (!isDying(lock.pid) || monotonicMs() > late) throw alreadyRunning(lock, stateDir, options.file);
  }
}

function alreadyRunning(holder: Holder, stateDir: string, file: string | undefined): ProcmanError {
  return new ProcmanError("already-running", inUseText(holder, stateDir, file));
}
