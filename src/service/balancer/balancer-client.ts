/** The service's connection to the balancer. It reconnects until the balancer answers. */
import { connect, type Socket } from "node:net";
import { JsonLines, jsonLine } from "../../base/json-lines.ts";
import type { FromBalancer, Front, FrontReport, ToBalancer } from "../../ipc/balancer-protocol.ts";
import { balancerSocket, isOwnSocket } from "../../os/balancer-socket.ts";

/** Pauses between attempts to connect: fast ones for the first second, then slow ones. Milliseconds. */
const FAST_RETRY_MS = 20;
const SLOW_RETRY_MS = 200;
const FAST_RETRIES = 50;

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
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #closed = false;
  #serial = 0;
  readonly #pending = new Map<number, () => void>();

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
    if (!isOwnSocket(path)) return this.#reconnectLater();
    const socket = connect(path);
    const lines = new JsonLines<FromBalancer>((message) => this.#receive(message));
    this.#socket = socket;
    socket.setEncoding("utf8");
    socket.on("data", (text: string) => lines.push(text));
    // A killed balancer leaves its socket file behind. `close` follows and reconnects.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#isUp = false;
      this.#reconnectLater();
    });
  }

  #receive(message: FromBalancer): void {
    if (message.t === "report") return this.#options.onReport(message.fronts);
    if (message.t === "applied") return this.#resolveUpTo(message.serial);
    if (message.t !== "hello") return;
    this.#isUp = true;
    this.#attempts = 0;
    this.#sendFronts(++this.#serial);
  }

  #sendFronts(serial: number): void {
    if (this.#isUp) this.#socket?.write(jsonLine({ t: "fronts", serial, fronts: this.#options.fronts() } satisfies ToBalancer));
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
