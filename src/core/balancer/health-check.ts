/** Connects to backends that get no connections, to find out when they accept again. */
import type { Backend, Backends } from "./backends.ts";
import { HeaderQuestion } from "./header-question.ts";
import { localHeader } from "./proxy-protocol.ts";
import { isToItself, type Tcp, type TcpHandle } from "./tcp-handle.ts";

/** Interval for the first second of an outage, and after it. */
const FAST_MS = 25;
const SLOW_MS = 100;
const FAST_FOR_MS = 1_000;
/** While clients wait for a few backends: the interval grows with the outage, of which it is this part. */
const AWAITED_MS = 4;
const AWAITED_PART = 1 / 40;
const FEW = 16;
/** Backends checked at a time: while a thousand instances start, they need the CPU themselves. */
const BATCH = 100;
/**
 * An attempt without an answer is given up after this time and repeated: where an accept queue is full the kernel
 * ignores it, and repeats it itself at growing intervals of up to 30 s.
 */
const ANSWER_MS = 100;
/** Interval while another program has the port of a backend: finding out which takes some milliseconds. */
const FOREIGN_MS = 500;

/** `version`: of the backend when it began. */
type Attempt = { readonly socket: TcpHandle; readonly version: number; readonly due: number };

export const HOST = "127.0.0.1";

export type HealthCheckEvents = {
  readonly accepts: (backend: Backend) => void;
  /** Another program accepts connections on the port of a backend. */
  readonly foreign: () => void;
  /** Whether clients wait for a backend. */
  readonly isAwaited: () => boolean;
};

export class HealthCheck {
  readonly #tcp: Tcp;
  readonly #backends: Backends;
  readonly #on: HealthCheckEvents;
  /** Attempts without an answer so far. */
  readonly #pending = new Map<Backend, Attempt>();
  /** Backends whose port another program has, and when they are checked again. */
  readonly #foreign = new Map<Backend, number>();
  /** To backends that have accepted: whether they read headers. */
  readonly #questions = new Map<Backend, HeaderQuestion>();
  #timer: NodeJS.Timeout | undefined;
  /** When the outage began, or another backend came up. Monotonic milliseconds. */
  #since = 0;
  #start = 0;
  usesHeader = false;

  constructor(tcp: Tcp, backends: Backends, on: HealthCheckEvents) {
    this.#tcp = tcp;
    this.#backends = backends;
    this.#on = on;
  }

  /** A backend came up (`isNew`: check it now) or refused a connection. Checks are repeated until all accept. */
  wake(isNew: boolean): void {
    if (isNew || this.#timer === undefined) this.#since = performance.now();
    if (isNew) this.#check();
    this.#arm();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { socket } of this.#pending.values()) socket.close();
    for (const question of this.#questions.values()) question.close();
    this.#pending.clear();
    this.#questions.clear();
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#check();
      if (this.#backends.unproven.length > 0) this.#arm();
    }, this.#intervalMs);
  }

  get #intervalMs(): number {
    const outageMs = performance.now() - this.#since;
    if (this.#on.isAwaited() && this.#backends.unproven.length <= FEW)
      return Math.min(SLOW_MS, AWAITED_MS + outageMs * AWAITED_PART);
    return outageMs < FAST_FOR_MS ? FAST_MS : SLOW_MS;
  }

  #check(): void {
    const now = performance.now();
    for (const [backend, { socket, version, due }] of this.#pending) {
      if (version === backend.version && now < due) continue;
      this.#pending.delete(backend);
      socket.close();
    }
    for (const [backend, question] of this.#questions) {
      if (!question.isClosed && question.version === backend.version) continue;
      this.#questions.delete(backend);
      question.close();
    }
    for (const [backend, until] of this.#foreign) if (now >= until || !backend.isForeign) this.#foreign.delete(backend);
    const isAsked = (backend: Backend): boolean => backend.question !== undefined && this.#questions.has(backend);
    const unproven = this.#backends.unproven.filter(
      (backend) => !this.#pending.has(backend) && !this.#foreign.has(backend) && !isAsked(backend),
    );
    // With more than one batch, the batches take turns.
    const start = unproven.length > BATCH ? this.#start++ * BATCH : 0;
    for (let step = 0; step < Math.min(BATCH, unproven.length); step++)
      this.#connect(unproven[(start + step) % unproven.length] as Backend);
  }

  #connect(backend: Backend): void {
    const socket = this.#tcp.newSocket();
    const { port, version } = backend;
    const attempt = { socket, version, due: performance.now() + ANSWER_MS };
    this.#pending.set(backend, attempt);
    this.#tcp.connect(socket, HOST, port, (status) => {
      // Otherwise it was given up, and closed.
      if (this.#pending.get(backend) !== attempt) return;
      this.#pending.delete(backend);
      const isCurrent = backend.version === version && backend.state === "up" && backend.isOut;
      if (status === 0 && !isToItself(socket, port) && isCurrent) this.#onAccepted(backend, socket);
      else socket.close();
    });
  }

  #onAccepted(backend: Backend, socket: TcpHandle): void {
    const { question, proxyToken } = backend;
    if (!backend.isItself) return this.#onForeign(backend, socket);
    if (!this.usesHeader && question !== undefined) return this.#ask(backend, question, socket);
    if (this.usesHeader) this.#tcp.write(socket, localHeader(proxyToken));
    socket.close();
    this.#on.accepts(backend);
  }

  #ask(backend: Backend, token: string, socket: TcpHandle): void {
    const { version } = backend;
    const answered = (readsHeader: boolean): void => {
      if (backend.version !== version) return;
      backend.readsHeader = readsHeader;
      if (backend.isOut) this.#on.accepts(backend);
    };
    this.#questions.set(backend, new HeaderQuestion(this.#tcp, socket, { version, token, answered }));
  }

  #onForeign(backend: Backend, socket: TcpHandle): void {
    socket.close();
    this.#foreign.set(backend, performance.now() + FOREIGN_MS);
    this.#on.foreign();
  }
}
