/** Opens a common port, and retries while it is in use. */
import { lookup } from "node:dns/promises";
import { getSystemErrorName } from "node:util";
import type { FrontSpec } from "../ipc/balancer-protocol.ts";
import { whyNotListening } from "../os/port-owner.ts";
import type { Tcp, TcpServer } from "./tcp-handle.ts";

/** Between two attempts, at first fast. */
const RETRY_MS = 500;
const FAST_MS = 20;
const FAST_COUNT = 10;
/** ECANCELED. */
const CANCELLED = -125;

export type PortListenerOptions = {
  readonly tcp: Tcp;
  /** Takes the socket. Returns 0, or a negative errno when it can't listen. */
  readonly bound: (server: TcpServer) => number;
  readonly changed: () => void;
  /** Listening socket of the predecessor. */
  readonly inherited?: TcpServer | undefined;
};

export class PortListener {
  readonly #front: FrontSpec;
  readonly #options: PortListenerOptions;
  #timer: NodeJS.Timeout | undefined;
  #attempts = 0;
  #closed = false;
  /** Why the port is not open. */
  problem: string | undefined;
  /** Resolves after the first attempt; at once where a name must be looked up first. */
  readonly attempted: Promise<void>;

  constructor(front: FrontSpec, options: PortListenerOptions) {
    this.#front = front;
    this.#options = options;
    const opened = this.#open();
    this.attempted = isAddress(front.hostname) ? opened : Promise.resolve();
  }

  get port(): number {
    return this.#front.port;
  }

  serves({ hostname, port }: FrontSpec): boolean {
    return hostname === this.#front.hostname && port === this.#front.port;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #open(): Promise<void> {
    const problem = await this.#attempt().catch((error: NodeJS.ErrnoException) =>
      this.#describe(error.code ?? "", error.message),
    );
    if (this.#closed) return;
    if (problem !== undefined)
      // A previous holder may need a moment to end.
      this.#timer = setTimeout(() => void this.#open(), this.#attempts++ < FAST_COUNT ? FAST_MS : RETRY_MS);
    if (problem === this.problem) return;
    this.problem = problem;
    this.#options.changed();
  }

  /** Resolves with the problem, or undefined. */
  async #attempt(): Promise<string | undefined> {
    const { hostname, port } = this.#front;
    const { inherited, tcp, bound } = this.#options;
    if (inherited !== undefined && this.#attempts === 0 && bound(inherited) === 0) return undefined;
    const address = isAddress(hostname) ? hostname : (await lookup(hostname)).address;
    if (this.#closed) return undefined;
    const server = await tcp.bind(address, port);
    const status = this.#closed ? CANCELLED : bound(server);
    if (status === 0) return undefined;
    server.close();
    const code = getSystemErrorName(status);
    return this.#describe(code, code);
  }

  #describe(code: string, fallback: string): string {
    return whyNotListening(code, this.#front.port) ?? fallback;
  }
}

function isAddress(hostname: string): boolean {
  return /^[\d.]+$|:/.test(hostname);
}
