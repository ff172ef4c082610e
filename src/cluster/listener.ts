/** Opens common ports, and tries again while one can't be had. */
import { lookup } from "node:dns/promises";
import { isIPv6 } from "node:net";
import { getSystemErrorName } from "node:util";
import type { FrontSpec } from "../contract/balancer-protocol.ts";
import { whyNotListening } from "../os/port-holder.ts";
import { type Handle, newServer } from "./sockets.ts";

/** Between two attempts. Milliseconds. */
const RETRY_MS = 500;
const EAGER_MS = 20;
const EAGER_COUNT = 10;

export type ListenerOptions = {
  /** The socket is bound. Returns 0, or a negative errno when it can't listen. */
  readonly bound: (socket: Handle) => number;
  readonly changed: () => void;
  /** One that listens already: of the balancer before this one. */
  readonly inherited?: Handle | undefined;
};

export class Listener {
  readonly #front: FrontSpec;
  readonly #options: ListenerOptions;
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #closed = false;
  /** Why nobody listens. */
  problem: string | undefined;

  constructor(front: FrontSpec, options: ListenerOptions) {
    this.#front = front;
    this.#options = options;
    void this.#open();
  }

  /** Whether this is the address that it listens on. */
  serves({ hostname, port }: FrontSpec): boolean {
    return hostname === this.#front.hostname && port === this.#front.port;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #open(): Promise<void> {
    const problem = await this.#attempt().catch((error: NodeJS.ErrnoException) => this.#why(error.code ?? "", error.message));
    if (this.#closed) return;
    if (problem !== undefined)
      // Who was there before us may need a moment to go.
      this.#timer = setTimeout(() => void this.#open(), this.#attempts++ < EAGER_COUNT ? EAGER_MS : RETRY_MS);
    if (problem === this.problem) return;
    this.problem = problem;
    this.#options.changed();
  }

  /** Why it failed. */
  async #attempt(): Promise<string | undefined> {
    const { hostname, port } = this.#front;
    const { inherited } = this.#options;
    if (inherited !== undefined && this.#attempts === 0 && this.#options.bound(inherited) === 0) return undefined;
    const address = /^[\d.]+$|:/.test(hostname) ? hostname : (await lookup(hostname)).address;
    if (this.#closed) return undefined;
    const socket = newServer();
    const bound = isIPv6(address) ? socket.bind6(address, port, 0) : socket.bind(address, port);
    const status = bound < 0 ? bound : this.#options.bound(socket);
    if (status === 0) return undefined;
    socket.close();
    const code = getSystemErrorName(status);
    return this.#why(code, code);
  }

  #why(code: string, otherwise: string): string {
    return whyNotListening(code, this.#front.port) ?? otherwise;
  }
}
