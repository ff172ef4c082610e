/** The service's end of the channel to the keeper: what one turn says travels as one array. */
import type { FromKeeper, ToKeeper } from "../contract/keeper-protocol.ts";

/** How long a message may wait for others. Milliseconds. */
const LATER_MS = 20;

export class Link {
  readonly #channel: NodeJS.Process;
  #outbox: ToKeeper[] = [];
  /** The latest memory of each process that changed in this turn. */
  readonly #notes = new Map<string, unknown>();
  #flushing = false;
  readonly #later: ToKeeper[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(channel: NodeJS.Process, on: { readonly message: (message: FromKeeper) => void; readonly closed: () => void }) {
    this.#channel = channel;
    channel.on("message", (messages) => {
      for (const message of messages as FromKeeper[]) on.message(message);
      // Whatever was decided goes out with this turn, not with the next.
      this.flush();
    });
    channel.once("disconnect", on.closed);
  }

  send(message: ToKeeper): void {
    this.#outbox.push(message);
    this.#schedule();
  }

  /** For what nobody waits for: the first goes at once, and in a storm the many that follow go as one. */
  sendLater(message: ToKeeper): void {
    if (this.#timer !== undefined) return void this.#later.push(message);
    this.send(message);
    this.#timer = setTimeout(() => this.#sendLate(), LATER_MS);
  }

  /** Remembered with the commands of the same turn: both arrive or neither. */
  remember(id: string, memory: unknown): void {
    this.#notes.set(id, memory);
    this.#schedule();
  }

  flush(): void {
    this.#flushing = false;
    for (const [id, memory] of this.#notes) this.#outbox.push({ t: "note", id, note: JSON.stringify(memory) });
    this.#notes.clear();
    if (this.#outbox.length === 0 || !this.#channel.connected) return;
    this.#channel.send?.(this.#outbox);
    this.#outbox = [];
  }

  #sendLate(): void {
    this.#timer = undefined;
    if (this.#later.length === 0) return;
    this.#outbox.push(...this.#later.splice(0));
    this.#timer = setTimeout(() => this.#sendLate(), LATER_MS);
    this.flush();
  }

  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => this.flush());
  }
}
