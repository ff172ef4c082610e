/** Connects to backends that get no connections, to find out when they accept again. */
import type { Backend, Backends } from "./backends.ts";
import { localHeader } from "./proxy-protocol.ts";
import { isToItself, type Tcp } from "./tcp-handle.ts";

/** Interval for the first second of an outage, and after it. */
const FAST_MS = 25;
const SLOW_MS = 100;
const FAST_COUNT = 40;
/** Backends checked at a time: while a thousand instances start, they need the CPU themselves. */
const BATCH = 100;

export const HOST = "127.0.0.1";

export class HealthCheck {
  readonly #tcp: Tcp;
  readonly #backends: Backends;
  readonly #accepts: (backend: Backend) => void;
  /** Attempts without an answer so far. */
  readonly #pending = new Set<Backend>();
  #timer: NodeJS.Timeout | undefined;
  #checks = 0;
  #start = 0;
  usesHeader = false;

  constructor(tcp: Tcp, backends: Backends, accepts: (backend: Backend) => void) {
    this.#tcp = tcp;
    this.#backends = backends;
    this.#accepts = accepts;
  }

  /** A backend came up (`isNew`: check it now) or refused a connection. Checks are repeated until all accept. */
  wake(isNew: boolean): void {
    if (isNew || this.#timer === undefined) this.#checks = 0;
    if (isNew) this.#check();
    this.#arm();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#check();
        if (this.#backends.unproven.length > 0) this.#arm();
      },
      this.#checks++ < FAST_COUNT ? FAST_MS : SLOW_MS,
    );
  }

  #check(): void {
    const unproven = this.#backends.unproven.filter((backend) => !this.#pending.has(backend));
    // With more than one batch, the batches take turns.
    const start = unproven.length > BATCH ? this.#start++ * BATCH : 0;
    for (let step = 0; step < Math.min(BATCH, unproven.length); step++)
      this.#connect(unproven[(start + step) % unproven.length] as Backend);
  }

  #connect(backend: Backend): void {
    const socket = this.#tcp.newSocket();
    const { port } = backend;
    this.#pending.add(backend);
    this.#tcp.connect(socket, HOST, port, (status) => {
      this.#pending.delete(backend);
      const accepts = status === 0 && !isToItself(socket, port);
      if (accepts && this.usesHeader) this.#tcp.write(socket, localHeader());
      socket.close();
      if (accepts && backend.port === port && backend.state === "up" && backend.isOut) this.#accepts(backend);
    });
  }
}
