/** Looks whether backends that get no connections accept again, by connecting to them. */
import type { Backend, Backends } from "./backends.ts";
import { localHeader } from "./proxy-header.ts";
import { connectRequest, isToItself, newSocket, writeRequest } from "./sockets.ts";

/** Between two looks, for the first second of each absence and after. Milliseconds. */
const SOON_MS = 25;
const LATER_MS = 100;
const SOON_COUNT = 40;
/** So many looks at once: who starts a thousand instances needs the machine for them. */
const AT_ONCE = 100;

export const HOST = "127.0.0.1";

export class Prober {
  readonly #backends: Backends;
  readonly #accepts: (backend: Backend) => void;
  /** Under way, or never answered. */
  readonly #pending = new Set<Backend>();
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #start = 0;
  usesHeader = false;

  constructor(backends: Backends, accepts: (backend: Backend) => void) {
    this.#backends = backends;
    this.#accepts = accepts;
  }

  /** Somebody has just got out, or come up: looks at once if `isNew`, and again and again. */
  wake(isNew: boolean): void {
    if (isNew || this.#timer === undefined) this.#looks = 0;
    if (isNew) this.#look();
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
        this.#look();
        if (this.#backends.unproven.length > 0) this.#arm();
      },
      this.#looks++ < SOON_COUNT ? SOON_MS : LATER_MS,
    );
  }

  #look(): void {
    const unproven = this.#backends.unproven.filter((backend) => !this.#pending.has(backend));
    // Everybody gets a turn.
    const start = unproven.length > AT_ONCE ? this.#start++ * AT_ONCE : 0;
    for (let step = 0; step < Math.min(AT_ONCE, unproven.length); step++)
      this.#probe(unproven[(start + step) % unproven.length] as Backend);
  }

  #probe(backend: Backend): void {
    const socket = newSocket();
    const request = connectRequest();
    const { port } = backend;
    this.#pending.add(backend);
    const over = (status: number): void => {
      this.#pending.delete(backend);
      const accepts = status === 0 && !isToItself(socket, port);
      if (accepts && this.usesHeader) socket.writeBuffer(writeRequest(), localHeader());
      socket.close();
      if (accepts && backend.port === port && backend.state === "up" && backend.isOut) this.#accepts(backend);
    };
    request.oncomplete = over;
    const status = socket.connect(request, HOST, port);
    if (status < 0) over(status);
  }
}
