/** Puts processes to sleep that have no client, and wakes them when one comes. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { duration } from "../../base/quantity.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import type { FrontReport } from "../../ipc/balancer-protocol.ts";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { failpoint } from "../../os/failpoint.ts";
import type { Process } from "../../supervisor/process.ts";
import { isFallingAsleep, isIdle, isInBackoff, isReady, isRunning } from "../../supervisor/verdict.ts";
import { info, warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import { systemClock } from "../system-clock.ts";
import { type SleepFront, turnedAwayText } from "./balancer-records.ts";

/** Limit for the balancer's confirmation that no client gets a connection any more. Milliseconds. */
const CONFIRM_MS = 1_000;
/** Interval at which a busy process is asked again. Milliseconds. */
const BUSY_MS = 5_000;
/** Interval at which it is looked whether a client of a shared socket is served. Milliseconds. */
const SERVED_MS = 200;

/** A process, or the instances of a cluster, behind one port. `share`: the socket from which instances accept themselves. */
export type Sleeper = {
  readonly front: SleepFront;
  readonly share?: Listening;
  readonly specs: readonly ProcessSpec[];
  readonly idleMs: number;
};

/** The clients of a front, as the load balancer or the instances tell it. Times are monotonic milliseconds. */
export type Clients = {
  /** Connections that keep it awake, and how many it had in all. */
  readonly connections: number;
  readonly total: number;
  /** Clients that wait and wake it. */
  readonly waiting: number;
  /** Since when its present runs serve. */
  readonly servedAt?: number;
  /** When one came or went last, as far as its instances have told. */
  readonly lastAt?: number;
  /** Why they can't be counted. */
  readonly problem?: string;
};

/** Since when it has had no client (monotonic milliseconds), and how many it had before. */
type Quiet = { readonly since: number; readonly total: number };

/** `since`: when a client has woken it that isn't served yet. `turnedAway`: clients that waited too long since then. */
type WakeCount = { wakes: number; since?: number; lastMs?: number; turnedAway: number };

export type SleepPorts = {
  /** undefined: the load balancer doesn't answer. */
  readonly clients: (sleeper: Sleeper, isDormant: boolean) => Clients | undefined;
  /** Closes the connections of those who wait on a shared socket. Returns how many they are. */
  readonly turnAway: (socket: Listening) => number;
  /** Nobody is awaited any more on other shared sockets. */
  readonly retain: (sockets: readonly Listening[]) => void;
  /** Sends the present fronts. Resolves when the balancer has applied them, after the reports about them. */
  readonly send: () => Promise<void>;
  readonly changed: () => void;
  /** Whether the process says so by its telemetry. */
  readonly saysBusy: (id: string) => boolean;
};

export class Sleep {
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;
  readonly #ports: SleepPorts;
  #sleepers: ReadonlyMap<string, Sleeper> = new Map();
  #config: object | undefined;
  readonly #quiet = new Map<string, Quiet>();
  /** Fronts whose clients wait until it is sure that nobody has come. */
  readonly #resting = new Set<string>();
  readonly #counts = new Map<string, WakeCount>();
  /** Why a process without a client is not put to sleep. */
  readonly #busy = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(services: Pick<Services, "log" | "specs" | "supervisor">, ports: SleepPorts) {
    this.#services = services;
    this.#ports = ports;
  }

  /** Whether its clients wait, and the first wakes it. */
  isAsleep(front: string): boolean {
    const sleeper = this.#all.get(front);
    return sleeper !== undefined && (this.#resting.has(front) || this.#isDormant(sleeper));
  }

  /** Looks at all fronts: called with each report of the balancer, and when a process has changed. */
  check(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped) return;
    const sleepers = [...this.#all.values()];
    this.#ports.retain(sleepers.flatMap((each) => (each.share && this.#isDormant(each) ? [each.share] : [])));
    const times = sleepers.map((sleeper) => this.#look(sleeper));
    const next = Math.min(...times) - systemClock.now();
    if (next < Number.POSITIVE_INFINITY) this.#timer = setTimeout(() => this.check(), Math.max(1, next)).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Clients that waited too long were turned away. */
  turnedAway(front: string, count: number): void {
    const sleeper = this.#all.get(front);
    const counts = this.#counts.get(front);
    if (sleeper === undefined || counts?.since === undefined) return;
    counts.turnedAway += count;
    this.#services.log.write(front, warn(turnedAwayText(count, sleeper.front)));
  }

  /** What a record says of it; undefined: it doesn't sleep. */
  recordOf(front: string): ProcessRecord["sleep"] {
    const sleeper = this.#all.get(front);
    if (sleeper === undefined) return undefined;
    const { wakes = 0, lastMs, turnedAway = 0 } = this.#counts.get(front) ?? {};
    const busy = this.#busy.get(front);
    return {
      afterSeconds: sleeper.idleMs / 1_000,
      wakeOn: sleeper.front.wake?.on ?? "connect",
      wakes,
      ...(lastMs !== undefined && { lastWakeMs: Math.round(lastMs) }),
      ...(busy !== undefined && { busy }),
      ...(turnedAway > 0 && { turnedAway }),
    };
  }

  get #all(): ReadonlyMap<string, Sleeper> {
    const { config } = this.#services.specs;
    if (config === this.#config) return this.#sleepers;
    this.#config = config;
    this.#sleepers = sleepersIn(config.processes);
    for (const known of [this.#quiet, this.#counts, this.#busy])
      for (const id of known.keys()) if (!this.#sleepers.has(id)) known.delete(id);
    return this.#sleepers;
  }

  #membersOf({ specs }: Sleeper): readonly Process[] {
    const { supervisor } = this.#services;
    return specs.flatMap(({ id }) => (supervisor.statesOf(id).length === 0 ? [] : [supervisor.find(id)]));
  }

  /** No instance runs on, and a client starts some. */
  #isDormant(sleeper: Sleeper): boolean {
    const members = this.#membersOf(sleeper);
    const isDown = members.every(({ states }) => states.every((state) => isIdle(state) || isFallingAsleep(state)));
    return isDown && members.some(({ isDormant }) => isDormant);
  }

  /** Returns when to look again, in monotonic milliseconds. */
  #look(sleeper: Sleeper): number {
    const { id } = sleeper.front;
    const isDormant = this.#isDormant(sleeper);
    const clients = this.#ports.clients(sleeper, isDormant);
    if (clients === undefined) {
      this.#quiet.delete(id);
      return Number.POSITIVE_INFINITY;
    }
    this.#countServed(id, clients);
    const isAwaited = clients.waiting > 0;
    if (isDormant) {
      this.#quiet.delete(id);
      this.#busy.delete(id);
      if (isAwaited) this.#wake(sleeper);
      return Number.POSITIVE_INFINITY;
    }
    if (this.#resting.has(id)) {
      if (isAwaited) this.#continueServing(id);
      return Number.POSITIVE_INFINITY;
    }
    const due = this.#quietSince(sleeper, clients) + sleeper.idleMs;
    const now = systemClock.now();
    if (due > now) {
      this.#busy.delete(id);
      return sleeper.share === undefined ? due : Math.min(due, this.#nextLook(sleeper, clients));
    }
    if (this.#isBusy(sleeper, clients)) return now + BUSY_MS;
    // Its instances accept until they get the stop signal; what they have accepted by then they serve.
    if (sleeper.share === undefined) void this.#rest(sleeper);
    else this.#putToSleep(sleeper);
    return Number.POSITIVE_INFINITY;
  }

  /** Instances that share a socket say nothing by themselves. Turns away those who have waited too long for them. */
  #nextLook({ front, share, specs, idleMs }: Sleeper, { connections }: Clients): number {
    const now = systemClock.now();
    const counts = this.#counts.get(front.id);
    if (counts?.since === undefined) return connections > 0 ? now + idleMs : Number.POSITIVE_INFINITY;
    const states = specs.flatMap(({ id }) => this.#services.supervisor.statesOf(id));
    if (states.every(isIdle)) return Number.POSITIVE_INFINITY;
    const limit = counts.since + (front.wake?.timeoutMs ?? 0);
    if (limit > now) return Math.min(limit, states.some(isRunning) ? now + SERVED_MS : limit);
    const count = share === undefined ? 0 : this.#ports.turnAway(share);
    if (count > 0) this.turnedAway(front.id, count);
    counts.since = now;
    return now + SERVED_MS;
  }

  /** Infinity: not all of it is up. */
  #quietSince(sleeper: Sleeper, { connections, total, waiting, lastAt }: Clients): number {
    const { id } = sleeper.front;
    const known = this.#quiet.get(id);
    const isQuiet = connections === 0 && waiting === 0 && known?.total === total;
    const quiet = known !== undefined && isQuiet ? known : { since: systemClock.now(), total };
    this.#quiet.set(id, quiet);
    const states = this.#membersOf(sleeper).flatMap((member) => member.states);
    const running = states.filter(isRunning);
    const isSettled = states.every((state) => isReady(state) || isIdle(state) || isInBackoff(state));
    if (!isSettled || running.length === 0 || connections > 0) return Number.POSITIVE_INFINITY;
    return Math.max(lastAt ?? quiet.since, ...running.map(({ since }) => since));
  }

  #isBusy({ front: { id }, specs }: Sleeper, { problem }: Clients): boolean {
    const isTold = specs.some((spec) => this.#ports.saysBusy(spec.id));
    const file = specs.flatMap(({ idle }) => idle?.busyFile ?? []).find((path) => existsSync(path));
    const why = isTold ? "it reports that it is busy" : file === undefined ? problem : `${file} exists`;
    if (why === undefined) this.#busy.delete(id);
    else if (!this.#busy.has(id)) this.#services.log.write(id, info(`stays awake: ${why}`));
    if (why !== undefined) this.#busy.set(id, why);
    return why !== undefined;
  }

  /** From now on clients wait. If none has come before that was applied, its instances are stopped. */
  async #rest(sleeper: Sleeper): Promise<void> {
    const { id } = sleeper.front;
    const before = this.#quiet.get(id);
    this.#resting.add(id);
    const isConfirmed = await Promise.race([this.#ports.send().then(() => true), sleep(CONFIRM_MS, false)]);
    const clients = this.#ports.clients(sleeper, false);
    if (!this.#resting.has(id) || this.#isStopped) return;
    const isQuiet = clients !== undefined && clients.waiting === 0 && clients.connections === 0;
    if (!isConfirmed || !isQuiet || clients.total !== before?.total) return this.#continueServing(id);
    failpoint("service.resting");
    // The front stays asleep: its instances are being stopped from now on.
    this.#resting.delete(id);
    this.#putToSleep(sleeper);
  }

  #putToSleep(sleeper: Sleeper): void {
    for (const member of this.#membersOf(sleeper)) member.sleep();
    this.#ports.changed();
  }

  /** A client has come. */
  #continueServing(id: string): void {
    this.#resting.delete(id);
    this.#quiet.delete(id);
    this.#ports.changed();
  }

  #wake(sleeper: Sleeper): void {
    const { id } = sleeper.front;
    const { wakes = 0, lastMs } = this.#counts.get(id) ?? {};
    this.#counts.set(id, {
      wakes: wakes + 1,
      since: systemClock.now(),
      ...(lastMs !== undefined && { lastMs }),
      turnedAway: 0,
    });
    for (const member of this.#membersOf(sleeper)) member.wake();
  }

  #countServed(id: string, { servedAt }: Clients): void {
    const counts = this.#counts.get(id);
    if (counts?.since === undefined || servedAt === undefined) return;
    const ms = Math.max(0, servedAt - counts.since);
    this.#counts.set(id, { wakes: counts.wakes, lastMs: ms, turnedAway: 0 });
    this.#services.log.write(id, info(`serves clients ${duration(ms)} after the first has come`));
  }
}

function sleepersIn(specs: readonly ProcessSpec[]): ReadonlyMap<string, Sleeper> {
  const sleepers = new Map<string, Sleeper & { readonly specs: ProcessSpec[] }>();
  for (const spec of specs) {
    const front = sleepFrontOf(spec);
    const { share, policy } = spec;
    if (front === undefined || policy.idleMs === undefined) continue;
    const known = sleepers.get(front.id);
    if (known === undefined)
      sleepers.set(front.id, { front, ...(share && { share }), specs: [spec], idleMs: policy.idleMs });
    else known.specs.push(spec);
  }
  return sleepers;
}

/** Where the clients of a process come that sleeps; undefined: it doesn't sleep. */
export function sleepFrontOf({ cluster, front, share, idle }: ProcessSpec): SleepFront | undefined {
  if (idle === undefined) return undefined;
  if (share === undefined || cluster === undefined) return front;
  return { id: cluster.id, ...share, wake: { on: "connect", timeoutMs: idle.wakeMs ?? 0 } };
}

/** Clients as the load balancer reports them. */
export function clientsIn({ waking, waiting, counted, backends }: FrontReport): Clients {
  const sum = (of: "connections" | "total"): number => backends.reduce((all, each) => all + each[of], 0);
  return {
    ...(counted ?? { connections: sum("connections"), total: sum("total") }),
    waiting: waking ?? waiting,
    ...(backends.some(({ accepting }) => accepting) && { servedAt: systemClock.now() }),
  };
}
