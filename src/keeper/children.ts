/** Spawns, signals and awaits the processes of runs. Holds no opinion on any of them. */
import type { ChildProcess } from "node:child_process";
import { closeSync, constants, openSync, statSync } from "node:fs";
import type {
  ExitedReport,
  FailedReport,
  Listening,
  RestartOrder,
  RunKey,
  RunningRun,
  Signal,
  SpawnRequest,
} from "../ipc/keeper-protocol.ts";
import { isForStoreAlone } from "../ipc/logger-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint, withoutFailpoints } from "../os/failpoint.ts";
import { groupLives, isTaken, livingGroups } from "../os/process-groups.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive, type ProcessStat, processEnvironment } from "../os/process-stat.ts";
import { markedProcesses } from "../os/process-tree.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import type { FifoPair, FifoPool } from "./fifo-pool.ts";
import { keyOf } from "./journal.ts";
import type { ListeningSockets } from "./listening-sockets.ts";
import { warn } from "./log.ts";
import type { MemoryCgroups } from "./memory-cgroups.ts";
import { RestartOrders } from "./restart-orders.ts";
import { fork, newborn, openAnew } from "./spawn.ts";
import type { WorkerChannel } from "./worker-channel.ts";

/** Spawning blocks the loop; longer than this in one turn, and a storm of restarts would leave nothing else a chance. Milliseconds. */
const TURN_MS = 5;
/** How often the end of a process is looked for whose parent we aren't: this, or as many milliseconds as there are of them. */
const POLL_MS = 100;
/** Each look asks only whether the pid is taken; every so many, whether it is still the same process, and no zombie. */
const LOOKS_PER_STAT = 20;

export type ChildReports = {
  /** Right before the fork. */
  readonly starting: (request: SpawnRequest, pair: FifoPair | undefined) => void;
  readonly spawned: (running: RunningRun, pair: FifoPair | undefined, request: SpawnRequest) => void;
  readonly failed: (failed: FailedReport) => void;
  readonly exited: (exited: ExitedReport) => void;
};

type ChildrenOptions = {
  readonly fifos: FifoPool;
  readonly cgroups: MemoryCgroups;
  readonly sockets: ListeningSockets;
  readonly deferred: DeferredQueue;
};

type Child = { readonly running: RunningRun; readonly adopted: boolean; readonly channel?: WorkerChannel | undefined };

export class Children {
  readonly #fifos: FifoPool;
  readonly #cgroups: MemoryCgroups;
  readonly #reports: ChildReports;
  readonly #environment = withoutFailpoints(process.env);
  readonly #children = new Map<string, Child>();
  readonly #queue: SpawnRequest[] = [];
  readonly #sockets: ListeningSockets;
  readonly #deferred: DeferredQueue;
  /** Of the requests in the queue, and of those whose socket is being opened. */
  readonly #asked = new Set<string>();
  readonly prepared = new RestartOrders();
  #draining = false;
  #poll: NodeJS.Timeout | undefined;
  #looks = 0;

  constructor({ fifos, cgroups, sockets, deferred }: ChildrenOptions, reports: ChildReports) {
    this.#sockets = sockets;
    this.#deferred = deferred;
    this.#fifos = fifos;
    this.#cgroups = cgroups;
    this.#reports = reports;
  }

  get running(): readonly RunningRun[] {
    return [...this.#children.values()].map(({ running }) => running);
  }

  /** A run that is known already isn't started again: a service that was restarted may ask twice. */
  spawn(request: SpawnRequest): void {
    const key = keyOf(request);
    if (this.#children.has(key) || this.#asked.has(key)) return;
    this.#asked.add(key);
    if (request.listen === undefined || this.#sockets.fd(request.listen) !== undefined) this.#enqueue(request);
    else void this.#afterOpening(request, request.listen);
  }

  /** To be started when the run before it ends. That may be over already, and the service decides. */
  prepare(request: RestartOrder): void {
    if (this.#children.has(keyOf({ slot: request.slot, run: request.run - 1 }))) this.prepared.add(request);
  }

  /** Others needn't wait for its socket. */
  async #afterOpening(request: SpawnRequest, listen: Listening): Promise<void> {
    const { code = "EIO", problem } = await this.#sockets.open(listen);
    if (!this.#asked.has(keyOf(request))) return;
    if (problem === undefined) return this.#enqueue(request);
    this.#fail(request, { errno: code, step: "socket", message: problem });
  }

  #enqueue(request: SpawnRequest): void {
    this.#queue.push(request);
    if (this.#draining) return;
    this.#draining = true;
    // All that was asked for in this turn is there by then.
    queueMicrotask(() => this.#drain());
  }

  /** Takes up a run of an earlier keeper. One that has ended meanwhile is reported at once, its exit unknown. */
  adopt(record: RunningRun): void {
    this.#children.set(keyOf(record), { running: record, adopted: true });
    this.#poll ??= setTimeout(() => this.#look(), POLL_MS);
  }

  /** Who of the adopted has ended? */
  checkAdopted(isThere: (running: RunningRun) => boolean = ({ pid, startTime }) => isAlive(pid, startTime)): void {
    const ended = [...this.#children].filter(([, { adopted, running }]) => adopted && !isThere(running));
    const groups = ended.some(([, { running }]) => groupLives(running.pid)) ? livingGroups() : new Set<number>();
    for (const [key, { running }] of ended)
      this.#ended(key, running, { code: null, signal: null, unknown: true, survivors: groups.has(running.pid) });
  }

  #look(): void {
    this.#looks += 1;
    this.checkAdopted(this.#looks % LOOKS_PER_STAT === 0 ? undefined : ({ pid }) => isTaken(pid));
    const count = [...this.#children.values()].filter(({ adopted }) => adopted).length;
    this.#poll = count === 0 ? undefined : setTimeout(() => this.#look(), Math.max(POLL_MS, count));
  }

  signal(key: RunKey, signal: Signal): void {
    const { running } = this.#children.get(keyOf(key)) ?? {};
    // Not there: it has ended, and the report of that is on its way.
    if (running !== undefined) signalIfThere(-running.pid, signal);
    failpoint("keeper.signalled");
  }

  /** Tells a worker to finish. One that can't hear it any more, as its channel ended with an earlier keeper, gets the signal. */
  drain(key: RunKey, signal: Signal): void {
    const { adopted, channel } = this.#children.get(keyOf(key)) ?? {};
    if (adopted === true || channel?.drain() === false) this.signal(key, signal);
  }

  /** Forgets what was to be started, and signals all that runs. */
  signalAll(signal: Signal): void {
    this.prepared.clear();
    this.#queue.length = 0;
    this.#asked.clear();
    for (const { pid } of this.running) signalIfThere(-pid, signal);
  }

  #drain(): void {
    const until = monotonicMs() + TURN_MS;
    while (this.#queue.length > 0 && monotonicMs() < until) {
      const request = this.#queue[0] as SpawnRequest;
      const pair = request.capture === undefined ? undefined : this.#fifos.take();
      if (request.capture !== undefined && pair === undefined) return this.#waitForFifos();
      this.#queue.shift();
      this.#start(request, pair);
    }
    this.#deferred.isRush = this.#queue.length > 0;
    if (this.#queue.length > 0) setImmediate(() => this.#drain());
    else this.#draining = false;
  }

  #waitForFifos(): void {
    const wanted = this.#queue.filter(({ capture }) => capture !== undefined).length;
    this.#fifos.fill(wanted).then(
      () => this.#drain(),
      (error: Error) => {
        const request = this.#queue.shift();
        if (request !== undefined) this.#startWithoutFifos(request, error);
        this.#drain();
      },
    );
  }

  /** A process runs unheard rather than not at all, where nobody but the log store would hear it. */
  #startWithoutFifos({ capture, ...request }: SpawnRequest, error: Error): void {
    const [errno, { message }] = [errnoOf(error), error];
    if (capture !== undefined && !isForStoreAlone(capture))
      return this.#fail(request, { errno, step: isScarcity(errno) ? "fork" : "run-folder", message });
    warn(`the output of ${request.slot} is not stored: ${message}`);
    this.#start(request, undefined);
  }

  #start(request: SpawnRequest, pair: FifoPair | undefined): void {
    this.#asked.delete(keyOf(request));
    const ends: number[] = [];
    try {
      // The child's own open, blocking and for reading too: no SIGPIPE when the logger dies, and no EAGAIN.
      if (pair !== undefined) ends.push(openSync(pair.out, constants.O_RDWR), openSync(pair.err, constants.O_RDWR));
      this.#reports.starting(request, pair);
      failpoint("keeper.asked");
      const notified = request.notify === undefined ? undefined : openAnew(request.notify.file);
      if (notified !== undefined) ends.push(notified);
      const [out, err] = pair === undefined ? [] : ends;
      const socket = request.listen === undefined ? undefined : this.#sockets.fd(request.listen);
      // Whatever has happened before this, the run has from its beginning.
      const since = monotonicMs();
      const [child, channel] = this.#cgroups.within(request, () => fork(request, { out, err, notified, socket }, this.#environment));
      if (child.pid !== undefined) return this.#started({ request, pair, child, channel, pid: child.pid, since });
      child.once("error", (error) => this.#unstartable(request, pair, error));
    } catch (error) {
      this.#unstartable(request, pair, error as Error);
    } finally {
      for (const fd of ends) closeSync(fd);
    }
  }

  #started({
    request,
    pair,
    child,
    channel,
    pid,
    since,
  }: {
    readonly request: SpawnRequest;
    readonly pair: FifoPair | undefined;
    readonly child: ChildProcess;
    readonly channel: WorkerChannel | undefined;
    readonly pid: number;
    readonly since: number;
  }): void {
    failpoint("keeper.forked");
    const running = newborn(request, pid, since);
    const key = keyOf(request);
    this.#children.set(key, { running, adopted: false, channel });
    child.once("exit", (code, signal) => this.#ended(key, running, { code, signal, unknown: false, survivors: groupLives(pid) }));
    // Without this, a failed kill or send of Node's own would end the keeper.
    child.on("error", (error) => process.emitWarning(error));
    this.#reports.spawned(running, pair, request);
  }

  #ended(key: string, { slot, run, pid }: RunningRun, how: Pick<ExitedReport, "code" | "signal" | "unknown" | "survivors">): void {
    failpoint("keeper.exited");
    this.#children.get(key)?.channel?.close();
    this.#children.delete(key);
    const next = this.prepared.after({ slot, run, ...how });
    const followed = next === undefined ? {} : ({ followed: true } as const);
    this.#reports.exited({ slot, run, pid, ...how, ...followed, ...this.#cgroups.endOf(slot), at: monotonicMs() });
    if (next !== undefined) this.spawn(next);
  }

  #unstartable(request: SpawnRequest, pair: FifoPair | undefined, error: NodeJS.ErrnoException): void {
    if (pair !== undefined) this.#fifos.giveBack(pair);
    this.#fail(request, { errno: error.code ?? "UNKNOWN", step: stepOf(request, error), message: error.message });
  }

  #fail({ slot, run }: RunKey, why: Pick<FailedReport, "errno" | "step" | "message">): void {
    this.#asked.delete(keyOf({ slot, run }));
    this.#reports.failed({ slot, run, ...why, at: monotonicMs() });
  }
}

/** Runs that are found by the mark in their environment, when the records that told of them are gone. */

/** Of each slot the latest run, with its leader: the member that leads a group and was there first. */
export function foundRuns(mark: string): readonly RunningRun[] {
  const found = new Map<string, RunningRun>();
  for (const stat of markedProcesses(mark).filter(({ pid, group }) => pid === group)) {
    const run = runOf(stat, mark);
    const known = run === undefined ? undefined : found.get(run.slot);
    if (run !== undefined && (known === undefined || isBetter(run, known))) found.set(run.slot, run);
  }
  return [...found.values()];
}

function runOf({ pid, startTime }: ProcessStat, mark: string): RunningRun | undefined {
  const [, slot, run] =
    new RegExp(`(?:^|[\\0 ])PROCMAN_RUN_ID=([^\\0 ]*)\\.(\\d+)@${mark}(?:$|[\\0 ])`).exec(processEnvironment(pid) ?? "") ?? [];
  return slot === undefined ? undefined : { slot, run: Number(run), pid, startTime, since: monotonicMs() };
}

function isBetter(one: RunningRun, other: RunningRun): boolean {
  return one.run === other.run ? Number(one.startTime) < Number(other.startTime) : one.run > other.run;
}

/** Why a run could not be started. */

/** Which step has failed, as far as the error tells. */
function stepOf({ cwd }: SpawnRequest, { code, syscall }: NodeJS.ErrnoException): FailedReport["step"] {
  if (!isFolder(cwd)) return "cwd";
  if (isScarcity(code)) return "fork";
  return syscall === "open" ? "run-folder" : "program";
}

/** The machine lacks something now that it may have later. */
function isScarcity(code: string | undefined): boolean {
  return ["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(code ?? "");
}

function errnoOf(error: NodeJS.ErrnoException): string {
  return typeof error.code === "string" ? error.code : /No space/.test(error.message) ? "ENOSPC" : "EIO";
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
