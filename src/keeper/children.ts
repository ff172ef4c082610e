/** Spawns, signals and awaits the processes of runs. Holds no opinion on any of them. */

import type { ChildProcess } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { Exited, Failed, Listening, PreparedRequest, RunKey, Running, Signal, SpawnRequest } from "../contract/keeper-protocol.ts";
import { isForStoreAlone } from "../contract/logger-protocol.ts";
import { failpoint, withoutFailpoints } from "../os/failpoint.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { isAlive } from "../os/process-stat.ts";
import { signalIfThere } from "../os/signal.ts";
import type { Cgroups } from "./cgroups.ts";
import { keyOf } from "./entry.ts";
import { errnoOf, isScarcity, stepOf } from "./failure.ts";
import type { Fifos, Pair } from "./fifos.ts";
import { Environment, fork, openAnew } from "./fork.ts";
import { groupLives, isTaken, livingGroups } from "./groups.ts";
import { rush } from "./later.ts";
import { newborn } from "./newborn.ts";
import { Prepared } from "./prepared.ts";
import type { Sockets } from "./sockets.ts";
import { warn } from "./warning.ts";
import type { WorkerChannel } from "./worker-channel.ts";

/** Spawning blocks the loop; longer than this in one turn, and a storm of restarts would leave nothing else a chance. Milliseconds. */
const TURN_MS = 5;
/** How often the end of a process is looked for whose parent we aren't: this, or as many milliseconds as there are of them. */
const POLL_MS = 100;
/** Each look asks only whether the pid is taken; every so many, whether it is still the same process, and no zombie. */
const LOOKS_PER_STAT = 20;

export type Reports = {
  /** Right before the fork. */
  readonly starting: (request: SpawnRequest, pair: Pair | undefined) => void;
  readonly spawned: (running: Running, pair: Pair | undefined, request: SpawnRequest) => void;
  readonly failed: (failed: Failed) => void;
  readonly exited: (exited: Exited) => void;
};

type Means = { readonly fifos: Fifos; readonly cgroups: Cgroups; readonly sockets: Sockets };

type Child = { readonly running: Running; readonly adopted: boolean; readonly channel?: WorkerChannel | undefined };

export class Children {
  readonly #fifos: Fifos;
  readonly #cgroups: Cgroups;
  readonly #reports: Reports;
  readonly #environment = new Environment(withoutFailpoints(process.env));
  readonly #children = new Map<string, Child>();
  readonly #queue: SpawnRequest[] = [];
  readonly #sockets: Sockets;
  /** Of the requests in the queue, and of those whose socket is being opened. */
  readonly #asked = new Set<string>();
  readonly prepared = new Prepared();
  #draining = false;
  #poll: NodeJS.Timeout | undefined;
  #looks = 0;

  constructor({ fifos, cgroups, sockets }: Means, reports: Reports) {
    this.#sockets = sockets;
    this.#fifos = fifos;
    this.#cgroups = cgroups;
    this.#reports = reports;
  }

  get running(): readonly Running[] {
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
  prepare(request: PreparedRequest): void {
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
  adopt(record: Running): void {
    this.#children.set(keyOf(record), { running: record, adopted: true });
    this.#poll ??= setTimeout(() => this.#look(), POLL_MS);
  }

  /** Who of the adopted has ended? */
  checkAdopted(isThere: (running: Running) => boolean = ({ pid, startTime }) => isAlive(pid, startTime)): void {
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
    rush(this.#queue.length > 0);
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

  #start(request: SpawnRequest, pair: Pair | undefined): void {
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
    readonly pair: Pair | undefined;
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

  #ended(key: string, { slot, run, pid }: Running, how: Pick<Exited, "code" | "signal" | "unknown" | "survivors">): void {
    failpoint("keeper.exited");
    this.#children.get(key)?.channel?.close();
    this.#children.delete(key);
    const next = this.prepared.after({ slot, run, ...how });
    const followed = next === undefined ? {} : ({ followed: true } as const);
    this.#reports.exited({ slot, run, pid, ...how, ...followed, ...this.#cgroups.endOf(slot), at: monotonicMs() });
    if (next !== undefined) this.spawn(next);
  }

  #unstartable(request: SpawnRequest, pair: Pair | undefined, error: NodeJS.ErrnoException): void {
    if (pair !== undefined) this.#fifos.giveBack(pair);
    this.#fail(request, { errno: error.code ?? "UNKNOWN", step: stepOf(request, error), message: error.message });
  }

  #fail({ slot, run }: RunKey, why: Pick<Failed, "errno" | "step" | "message">): void {
    this.#asked.delete(keyOf({ slot, run }));
    this.#reports.failed({ slot, run, ...why, at: monotonicMs() });
  }
}
