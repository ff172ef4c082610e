/** Messages for one target: gathered for a while, then sent; what comes in the meantime is the next message. */
import { Digest, type Happening, type Message } from "./digest.ts";

/** The longest time that is gathered, while a storm goes on. Milliseconds. */
const LONGEST_MS = 600_000;

export type MailboxPorts = {
  readonly whose: string;
  readonly groupMs: number;
  /** Resolves when it has arrived, or never will; rejects with nothing. */
  readonly send: (message: Message) => Promise<void>;
  /** Nothing waits any more. */
  readonly idle: () => void;
  readonly now?: () => number;
};

export class Mailbox {
  readonly #ports: MailboxPorts;
  readonly #digest: Digest;
  readonly #now: () => number;
  #windowMs: number;
  #lastSent = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;

  constructor(ports: MailboxPorts) {
    this.#ports = ports;
    this.#digest = new Digest(ports.whose);
    this.#windowMs = ports.groupMs;
    this.#now = ports.now ?? (() => performance.now());
  }

  get isIdle(): boolean {
    return this.#digest.isEmpty && this.#sending === undefined;
  }

  add(happening: Happening): void {
    this.#digest.add(happening);
    this.#arm();
  }

  /** What waits goes now. */
  async flush(): Promise<void> {
    await this.#sending;
    if (this.isIdle) return;
    clearTimeout(this.#timer);
    await this.#send();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#sending !== undefined || this.#digest.isEmpty) return;
    // Shortly after a message there is another: the storm goes on, so the next one is gathered for longer.
    const isStorm = this.#now() - this.#lastSent < 2 * this.#windowMs;
    this.#windowMs = isStorm ? Math.min(Math.max(LONGEST_MS, this.#ports.groupMs), this.#windowMs * 2) : this.#ports.groupMs;
    this.#timer = setTimeout(() => void this.#send(), this.#windowMs);
  }

  #send(): Promise<void> {
    this.#timer = undefined;
    this.#sending = this.#ports.send(this.#digest.take()).finally(() => {
      this.#lastSent = this.#now();
      this.#sending = undefined;
      if (this.#digest.isEmpty) this.#ports.idle();
      this.#arm();
    });
    return this.#sending;
  }
}
