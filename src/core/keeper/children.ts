/** Spawns, signals and awaits the processes of runs. Takes no decisions. */
import type { ChildProcess } from "node:child_process";
import { closeSync, statSync } from "node:fs";
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
import { isStoreOnly, keyOf } from "../ipc/logger-protocol.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint, withoutFailpoints } from "../os/failpoint.ts";
import { groupLives } from "../os/process-groups.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { ageOf, isAlive, type ProcessStat } from "../os/process-stat.ts";
import type { MarkedProcess } from "../os/process-tree.ts";
import { isShortage } from "../os/shortage.ts";
import { AdoptedRuns } from "./adopted-runs.ts";
import type { DeferredQueue } from "./deferred-queue.ts";
import { type FifoPair, type FifoPool, openForRun } from "./fifo-pool.ts";
import type { ListeningSockets } from "./listening-sockets.ts";
import { warn } from "./log.ts";
import type { RunCgroups } from "./run-cgroups.ts";
import { fork, newRun, recreateFile, recreateInput, recreateScreen } from "./spawn.ts";
import type { WorkerChannel } from "./worker-channel.ts";

/** Spawning blocks the event loop: at most this long in one turn, so that a storm of restarts doesn't starve everything else. Milliseconds. */
const SPAWN_SLICE_MS = 5;

/** A start time that the kernel tells may be so much earlier or later. Milliseconds. */
const START_TIME_MS = 20;

export type ChildReports = {
  /** Right before the fork. */
  readonly starting: (request: SpawnRequest, pair: FifoPair | undefined) => void;
  readonly spawned: (running: RunningRun, pair: FifoPair | undefined, request: SpawnRequest) => void;
  readonly failed: (failed: FailedReport) => void;
  readonly exited: (exited: ExitedReport) => void;
};

type ChildrenOptions = {
  readonly fifos: FifoPool;
  readonly cgroups: RunCgroups;
  readonly sockets: ListeningSockets;
  readonly deferred: DeferredQueue;
};

type Child = { readonly running: RunningRun; readonly channel?: WorkerChannel | undefined };

export class Children {
  readonly #fifos: FifoPool;
  readonly #cgroups: RunCgroups;
  readonly #reports: ChildReports;
  readonly #environment = withoutFailpoints(process.env);
  readonly #children = new Map<string, Child>();
  readonly #queue: SpawnRequest[] = [];
  readonly #sockets: ListeningSockets;
  readonly #deferred: DeferredQueue;
  /** Keys of the requests in the queue, and of those whose socket is being opened. */
  readonly #requested = new Set<string>();
  readonly restartOrders = new RestartOrders();
  #isStarting = false;
  #isHeld = false;
  /** Runs taken over from an earlier keeper; their exit codes can't be known. */
  readonly adopted = new AdoptedRuns((running, survivors) =>
    this.#onExit(keyOf(running), running, { code: null, signal: null, unknown: true, survivors }),
  );

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

  /** A known run isn't started again: a restarted service may ask twice. */
  spawn(request: SpawnRequest): void {
    const key = keyOf(request);
    if (this.#children.has(key) || this.#requested.has(key)) return;
    this.#requested.add(key);
    if (request.listen === undefined || this.#sockets.fd(request.listen) !== undefined) this.#enqueue(request);
    else void this.#afterOpening(request, request.listen);
  }

  /** To be started when the run before it ends. If that has ended already, the service decides. */
  prepare(request: RestartOrder): void {
    if (this.#children.has(keyOf({ slot: request.slot, run: request.run - 1 }))) this.restartOrders.add(request);
  }

  /** Opens the socket first; other requests don't wait for it. */
  async #afterOpening(request: SpawnRequest, listen: Listening): Promise<void> {
    const { code = "EIO", problem } = await this.#sockets.open(listen);
    if (!this.#requested.has(keyOf(request))) return;
    if (problem === undefined) return this.#enqueue(request);
    this.#fail(request, { errno: code, step: "socket", message: problem });
  }

  #enqueue(request: SpawnRequest): void {
    this.#queue.push(request);
    if (this.#isStarting) return;
    this.#isStarting = true;
    // By then the queue holds all requests of this turn.
    if (!this.#isHeld) queueMicrotask(() => this.#startQueued());
  }

  /** Starts nothing until `release`: procman's own processes come first, as they can't start when a limit of processes is reached. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    if (this.#isStarting) this.#startQueued();
  }

  /** Adopts a run of an earlier keeper. */
  adopt(running: RunningRun): void {
    this.#children.set(keyOf(running), { running });
    this.adopted.add(running);
  }

  signal(key: RunKey, signal: Signal, to?: "leader"): void {
    const { running } = this.#children.get(keyOf(key)) ?? {};
    // undefined: it has ended, and the report of that is on its way.
    if (running === undefined || !this.#ownsPid(running)) return;
    if (this.adopted.has(keyOf(key))) this.adopted.lookSoon();
    signalIfThere(to === "leader" ? running.pid : -running.pid, signal);
    failpoint("keeper.signalled");
  }

  /** Tells a worker to finish. If its channel is closed (it ends with the keeper that made it), the worker gets the signal. */
  drain(key: RunKey, signal: Signal, to?: "leader"): void {
    const { channel } = this.#children.get(keyOf(key)) ?? {};
    if (this.adopted.has(keyOf(key)) || channel?.drain() === false) this.signal(key, signal, to);
  }

  /** Drops all requests and restart orders, and signals all runs. Returns the ids of their groups. */
  signalAll(signal: Signal): ReadonlySet<number> {
    this.restartOrders.clear();
    this.#queue.length = 0;
    this.#requested.clear();
    const signalled = this.running.filter((running) => this.#ownsPid(running));
    for (const { pid } of signalled) signalIfThere(-pid, signal);
    this.adopted.lookSoon();
    return new Set(signalled.map(({ pid }) => pid));
  }

  /** The pid of an adopted run may belong to another program by now. */
  #ownsPid(running: RunningRun): boolean {
    return !this.adopted.has(keyOf(running)) || isAlive(running.pid, running.startTime);
  }

  #startQueued(): void {
    const until = monotonicMs() + SPAWN_SLICE_MS;
    while (this.#queue.length > 0 && monotonicMs() < until) {
      const request = this.#queue[0] as SpawnRequest;
      const pair = request.capture === undefined ? undefined : this.#fifos.take();
      if (request.capture !== undefined && pair === undefined) return this.#waitForFifos();
      this.#queue.shift();
      this.#start(request, pair);
    }
    this.#deferred.isRush = this.#queue.length > 0;
    if (this.#queue.length > 0) setImmediate(() => this.#startQueued());
    else this.#isStarting = false;
  }

  #waitForFifos(): void {
    const wanted = this.#queue.filter(({ capture }) => capture !== undefined).length;
    this.#fifos.fill(wanted).then(
      () => this.#startQueued(),
      (error: Error) => {
        const request = this.#queue.shift();
        if (request !== undefined) this.#startWithoutFifos(request, error);
        this.#startQueued();
      },
    );
  }

  /** Without FIFOs, a run whose output goes to the log store alone is started all the same; its output is lost. */
  #startWithoutFifos({ capture, ...request }: SpawnRequest, error: Error): void {
    const errno = errnoOf(error);
    const { message } = error;
    if (capture !== undefined && !isStoreOnly(capture))
      return this.#fail(request, { errno, step: isShortage({ code: errno }) ? "fork" : "run-folder", message });
    warn(`the output of ${request.slot} is not stored: ${message}`);
    this.#start(request, undefined);
  }

  #start(request: SpawnRequest, pair: FifoPair | undefined): void {
    this.#requested.delete(keyOf(request));
    const fds: number[] = [];
    try {
      if (pair !== undefined) fds.push(...openForRun(pair));
      this.#reports.starting(request, pair);
      failpoint("keeper.asked");
      const notifyFd = request.notify === undefined ? undefined : recreateFile(request.notify.file);
      if (notifyFd !== undefined) fds.push(notifyFd);
      const clientsFd = request.clients === undefined ? undefined : recreateFile(request.clients.file, "wx");
      if (clientsFd !== undefined) fds.push(clientsFd);
      const [out, err] = pair === undefined ? [] : fds;
      const input = request.stdin === undefined ? undefined : recreateInput(request.stdin, request.as);
      if (input !== undefined) fds.push(input);
      const screenFd = request.screen === undefined ? undefined : recreateScreen(request.screen.file);
      if (screenFd !== undefined) fds.push(screenFd);
      const socket = request.listen === undefined ? undefined : this.#sockets.fd(request.listen);
      // Taken before the fork: all that happened earlier (a changed file) applies to the run.
      const since = monotonicMs();
      const [child, channel] = this.#cgroups.within(request, () =>
        fork(request, { input, out, err, notifyFd, clientsFd, screenFd, socket }, this.#environment),
      );
      if (child.pid !== undefined) return this.#started({ request, pair, child, channel, pid: child.pid, since });
      child.once("error", (error) => this.#onSpawnError(request, pair, error));
    } catch (error) {
      this.#onSpawnError(request, pair, error as Error);
    } finally {
      for (const fd of fds) closeSync(fd);
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
    const running = newRun(request, pid, since);
    const key = keyOf(request);
    this.#children.set(key, { running, channel });
    child.once("exit", (code, signal) =>
      this.#onExit(key, running, { code, signal, unknown: false, survivors: groupLives(pid) }),
    );
    // Without a listener, a failed kill or send would end the keeper.
    child.on("error", (error) => process.emitWarning(error));
    this.#reports.spawned(running, pair, request);
  }

  #onExit(
    key: string,
    { slot, run, pid, since }: RunningRun,
    how: Pick<ExitedReport, "code" | "signal" | "unknown" | "survivors">,
  ): void {
    failpoint("keeper.exited");
    this.#children.get(key)?.channel?.close();
    this.#children.delete(key);
    const next = this.restartOrders.after({ slot, run, ...how });
    const followed = next === undefined ? {} : ({ followed: true } as const);
    this.#reports.exited({
      slot,
      run,
      pid,
      since,
      ...how,
      ...followed,
      ...this.#cgroups.endOf(slot),
      at: monotonicMs(),
    });
    if (next !== undefined) this.spawn(next);
  }

  #onSpawnError(request: SpawnRequest, pair: FifoPair | undefined, error: NodeJS.ErrnoException): void {
    if (pair !== undefined) this.#fifos.giveBack(pair);
    this.#fail(request, { errno: error.code ?? "UNKNOWN", step: stepOf(request, error), message: error.message });
  }

  #fail({ slot, run }: RunKey, why: Pick<FailedReport, "errno" | "step" | "message">): void {
    this.#requested.delete(keyOf({ slot, run }));
    this.#reports.failed({ slot, run, ...why, at: monotonicMs() });
  }
}

/** Runs that the service has given in advance: the keeper starts each as soon as the run before it ends. */
export class RestartOrders {
  /** By slot. */
  readonly #requests = new Map<string, RestartOrder>();

  add(request: RestartOrder): void {
    this.#requests.set(request.slot, request);
  }

  cancel({ slot, run }: RunKey): void {
    if (this.#requests.get(slot)?.run === run) this.#requests.delete(slot);
  }

  /** A new service gives new orders. */
  clear(): void {
    this.#requests.clear();
  }

  /** What follows this end; undefined: the service decides, also when the run has left processes behind. */
  after({
    slot,
    run,
    code,
    survivors,
  }: Pick<ExitedReport, "slot" | "run" | "code" | "survivors">): SpawnRequest | undefined {
    const prepared = this.#requests.get(slot);
    this.#requests.delete(slot);
    if (prepared?.run !== run + 1 || survivors) return undefined;
    const { after, ...request } = prepared;
    return after === "any-end" || code !== 0 ? request : undefined;
  }
}

/** Runs found by the marker in their environment, for records that are lost. Of each slot the latest run, with its leader: the group leader that started first. */
export function foundRuns(marked: readonly MarkedProcess[]): readonly RunningRun[] {
  const found = new Map<string, RunningRun>();
  for (const { slot, run, pid, startTime, group } of marked) {
    const known = found.get(slot);
    const running = foundRun({ slot, run }, { pid, startTime });
    if (pid === group && (known === undefined || isLater(running, known))) found.set(slot, running);
  }
  return [...found.values()];
}

/** The record of a run that an earlier keeper has started. `since` isn't later than the start: what its output and its files say since then counts. */
export function foundRun(
  { slot, run }: RunKey,
  { pid, startTime }: Pick<ProcessStat, "pid" | "startTime">,
): RunningRun {
  return { slot, run, pid, startTime, since: monotonicMs() - Math.max(0, ageOf(startTime) * 1_000) - START_TIME_MS };
}

function isLater(one: RunningRun, other: RunningRun): boolean {
  return one.run === other.run ? Number(one.startTime) < Number(other.startTime) : one.run > other.run;
}

/** Which step of a start has failed, as far as the error tells. */
function stepOf({ cwd }: SpawnRequest, { code, syscall }: NodeJS.ErrnoException): FailedReport["step"] {
  if (!isFolder(cwd)) return "cwd";
  if (isShortage({ code })) return "fork";
  return syscall === "open" ? "run-folder" : "program";
}

function errnoOf(error: NodeJS.ErrnoException): string {
  return typeof error.code === "string" ? error.code : /No space/.test(error.message) ? "ENOSPC" : "EIO";
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // Whatever the reason, no process can start there.
    return false;
  }
}
