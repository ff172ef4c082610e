/** The service's connection to the balancer. It reconnects until the balancer answers. */
import type { Socket } from "node:net";
import { JsonLines, jsonLine } from "../../base/json-lines.ts";
import {
  type BalancerIdentity,
  type FromBalancer,
  type Front,
  type FrontReport,
  isAnswer,
  type ToBalancer,
} from "../../ipc/balancer-protocol.ts";
import { balancerSocket, isOwnSocket } from "../../os/balancer-socket.ts";
import { connectUnix } from "../../os/unix-socket.ts";

/** Pauses between attempts to connect: fast ones for the first second, then slow ones. Milliseconds. */
const FAST_RETRY_MS = 20;
const SLOW_RETRY_MS = 200;
const FAST_RETRIES = 50;
/** A balancer that was killed is back sooner. */
const SILENT_MS = 3_000;

export type BalancerClientOptions = {
  readonly stateDir: string;
  /** The common ports to serve, with their instances. Read at each change, and after each connect. */
  readonly fronts: () => readonly Front[];
  readonly onReport: (reports: readonly FrontReport[]) => void;
};

export class BalancerClient {
  readonly #options: BalancerClientOptions;
  #socket: Socket | undefined;
  #isUp = false;
  #identity: BalancerIdentity | undefined;
  /** The balancer has applied fronts of this service. */
  #isApplied = false;
  #lostAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #closed = false;
  #serial = 0;
  readonly #pending = new Map<number, () => void>();

  /** A balancer answers, or did a moment ago. */
  get isAnswered(): boolean {
    return this.#isUp || performance.now() - this.#lostAt < SILENT_MS;
  }

  /** undefined: none answers. */
  get identity(): BalancerIdentity | undefined {
    return this.#isUp ? this.#identity : undefined;
  }

  constructor(options: BalancerClientOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Sends the present fronts. Resolves when a balancer has applied them, if need be the next one. */
  async send(): Promise<void> {
    const serial = ++this.#serial;
    const applied = new Promise<void>((resolve) => this.#pending.set(serial, resolve));
    this.#sendFronts(serial);
    await applied;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#socket?.end();
    this.#resolveUpTo();
  }

  #connect(): void {
    const path = balancerSocket(this.#options.stateDir);
    const socket = isOwnSocket(path) ? attempt(() => connectUnix(path)) : undefined;
    if (socket === undefined) return this.#reconnectLater();
    // What can't be understood comes from no balancer: another attempt follows.
    const refused = (): void => void socket.destroy();
    const lines = new JsonLines<FromBalancer>({
      message: (message) => (isAnswer(message) ? this.#receive(message) : refused()),
      refused,
    });
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => lines.push(text));
    // A killed balancer leaves its socket file behind. `close` follows and reconnects.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (this.#isUp) this.#lostAt = performance.now();
      this.#isUp = false;
      this.#isApplied = false;
      this.#reconnectLater();
    });
  }

  #receive(message: FromBalancer): void {
    if (message.t === "report") return this.#onReport(message.fronts);
    if (message.t === "applied") {
      this.#isApplied = true;
      return this.#resolveUpTo(message.serial);
    }
    if (message.t !== "hello") return;
    this.#isUp = true;
    this.#identity = message;
    this.#attempts = 0;
    this.#sendFronts(++this.#serial);
  }

  /** Fronts that are not those of this service, with no message of it on the way, were set by another program of the user, and are put right. */
  #onReport(reports: readonly FrontReport[]): void {
    this.#options.onReport(reports);
    const idsOf = (fronts: readonly (Front | FrontReport)[]): string =>
      JSON.stringify(fronts.map(({ id, backends }) => [id, ...backends.map((backend) => backend.id).sort()]).sort());
    if (this.#pending.size === 0 && this.#isApplied && idsOf(reports) !== idsOf(this.#options.fronts()))
      void this.send();
  }

  #sendFronts(serial: number): void {
    if (this.#isUp)
      this.#socket?.write(jsonLine({ t: "fronts", serial, fronts: this.#options.fronts() } satisfies ToBalancer));
  }

  #reconnectLater(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => this.#connect(), this.#attempts++ < FAST_RETRIES ? FAST_RETRY_MS : SLOW_RETRY_MS);
  }

  /** Each message is complete, so it also confirms those before it. */
  #resolveUpTo(serial = Number.POSITIVE_INFINITY): void {
    for (const [number, resolve] of this.#pending) {
      if (number > serial) continue;
      resolve();
      this.#pending.delete(number);
    }
  }
}

/** undefined if it failed at once, as for lack of file descriptors. */
function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch {
    return undefined;
  }
}
