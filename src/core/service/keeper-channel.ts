/** The service's channel to the keeper: all messages of a turn are sent as one array. */
import { type FromKeeper, isStop, type ToKeeper } from "../ipc/keeper-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import { processOf } from "./spec-registry.ts";

/** At a first start, processes are sent in batches of this size: the keeper starts them while the service decides on the next. */
const FIRST_BATCH = 8;
/** Time that messages of low priority are collected. Milliseconds. */
const DELAY_MS = 20;
/** Interval at which a channel with a socket on its way is checked. Milliseconds. */
const CHECK_MS = 20;

/** What the channel needs of a process with an IPC channel. */
export type KeeperTransport = Pick<NodeJS.EventEmitter, "on" | "off" | "once" | "emit"> & {
  readonly connected: boolean;
  readonly send?:
    | {
        (messages: readonly ToKeeper[], done: () => void): unknown;
        (messages: readonly ToKeeper[], socket: SentSocket, options: object, done: () => void): unknown;
      }
    | undefined;
};

/** Node's types allow `net.Server` only, but its handle may be sent, too. */
type SentSocket = Parameters<NonNullable<typeof process.send>>[1];

export class KeeperChannel {
  readonly #channel: KeeperTransport;
  readonly #receive: (messages: unknown, socket?: unknown) => void;
  readonly #onClosed: () => void;
  #outbox: ToKeeper[] = [];
  /** The latest note of each process that changed in this turn; a text is sent as it is. */
  readonly #notes = new Map<string, unknown>();
  /** True during the turn of a snapshot without any process. */
  #isFirstStart = false;
  /** Processes of a first start whose spawn is not sent yet. */
  readonly #starting = new Set<string>();
  #heldBatches: (readonly [unknown, unknown])[] | undefined;
  #flushing = false;
  #closed = false;
  readonly #delayed: ToKeeper[] = [];
  #timer: NodeJS.Timeout | undefined;
  #lastCommit = 0;
  readonly #pendingCommits = new Map<number, () => void>();

  constructor(
    channel: KeeperTransport,
    on: { readonly message: (message: FromKeeper, socket?: unknown) => void; readonly closed: () => void },
  ) {
    this.#channel = channel;
    this.#receive = (messages, socket) => {
      if (this.#heldBatches !== undefined) return void this.#heldBatches.push([messages, socket]);
      for (const message of messages as FromKeeper[]) {
        if (message.t === "snapshot") this.#isFirstStart = isEmpty(message);
        on.message(message, socket);
      }
      // Send all decisions in this turn, not in the next.
      this.flush();
    };
    channel.on("message", this.#receive);
    this.#onClosed = on.closed;
    channel.once("disconnect", this.#onClosed);
  }

  send(message: ToKeeper): void {
    if (this.#closed) return;
    if (this.#isFirstStart && message.t === "spawn") this.#sendFirstBatches(processOf(message.slot));
    this.#outbox.push(message);
    this.#schedule();
  }

  /** Sends a listening socket. Messages after it wait until the keeper has received it. */
  sendSocket(message: ToKeeper, socket: object): void {
    if (this.#closed) return;
    this.flush();
    // As in `flush`: without the callback, an error would end the service.
    if (!this.#channel.connected) return;
    this.#channel.send?.([message], socket as SentSocket, {}, () => undefined);
    this.#reportDisconnect();
  }

  /** Until the other end has received a socket, Node doesn't emit `disconnect`: nodejs/node, seen on 20.20. */
  #reportDisconnect(): void {
    const channel = this.#channel;
    this.#lastCommit += 1;
    const number = this.#lastCommit;
    const end = (): void => {
      clearInterval(timer);
      channel.off("message", onMessages);
    };
    const onMessages = (messages: unknown): void => {
      if ((messages as readonly FromKeeper[]).some((message) => message.t === "synced" && message.number === number))
        end();
    };
    const timer = setInterval(() => {
      if (channel.connected) return;
      end();
      channel.emit("disconnect");
    }, CHECK_MS);
    channel.on("message", onMessages);
    this.send({ t: "sync", number });
  }

  /** For messages of low priority: the first is sent at once, those of the next 20 ms together. */
  sendLater(message: ToKeeper): void {
    if (this.#closed) return;
    if (this.#timer !== undefined) return void this.#delayed.push(message);
    this.send(message);
    this.#timer = setTimeout(() => this.#sendDelayed(), DELAY_MS);
  }

  /** Behind the messages of low priority, which are sent with it. */
  sendInOrder(message: ToKeeper): void {
    for (const delayed of this.#delayed.splice(0)) this.send(delayed);
    this.send(message);
  }

  /** Remembered with the commands of the same turn: both arrive or neither. */
  remember(id: string, note: unknown): void {
    this.#notes.set(id, note);
    this.#schedule();
  }

  forget(id: string): void {
    this.remember(id, "");
  }

  /** Keeps incoming messages until the promise is fulfilled. */
  hold(until: Promise<void>): void {
    this.#heldBatches = [];
    void until.then(() => {
      const held = this.#heldBatches ?? [];
      this.#heldBatches = undefined;
      if (!this.#closed) for (const batch of held) this.#receive(...batch);
    });
  }

  /** Sends what is left; after that, sends and receives nothing. */
  close(): void {
    clearTimeout(this.#timer);
    this.#outbox.push(...this.#delayed.splice(0));
    this.flush();
    this.#closed = true;
    this.#channel.off("message", this.#receive);
    this.#channel.off("disconnect", this.#onClosed);
  }

  /** Resolves when the keeper has received everything sent so far; never if the keeper or the channel ends first. */
  commit(): Promise<void> {
    this.#lastCommit += 1;
    const number = this.#lastCommit;
    this.send({ t: "sync", number });
    this.flush();
    return new Promise((resolve) => this.#pendingCommits.set(number, resolve));
  }

  onSynced(number: number): void {
    this.#pendingCommits.get(number)?.();
    this.#pendingCommits.delete(number);
  }

  flush(): void {
    this.#flushing = false;
    if (this.#closed) return;
    this.#isFirstStart = false;
    this.#starting.clear();
    this.#addNotes([...this.#notes.keys()]);
    // What a stop says must not come later than what the process prints because of it.
    if (this.#outbox.some(isStop)) this.#outbox.push(...this.#delayed.splice(0));
    this.#sendOutbox();
  }

  /**
   * On first start, sends commands and notes in batches. `id`: the process that is started next. Only notes of
   * processes in the batch go with it: if the service dies midway, the next one starts the processes that have no note.
   */
  #sendFirstBatches(id: string): void {
    if (this.#starting.size >= FIRST_BATCH && !this.#starting.has(id)) {
      this.#addNotes([...this.#notes.keys()].filter((each) => this.#starting.has(each)));
      this.#starting.clear();
      this.#sendOutbox();
      failpoint("service.begun");
    }
    this.#starting.add(id);
  }

  #addNotes(ids: readonly string[]): void {
    for (const id of ids) {
      const note = this.#notes.get(id);
      this.#outbox.push({ t: "note", id, note: typeof note === "string" ? note : JSON.stringify(note) });
      this.#notes.delete(id);
    }
  }

  #sendOutbox(): void {
    if (this.#outbox.length === 0 || !this.#channel.connected) return;
    failpoint("service.decided");
    // An error means that the keeper is gone; `disconnect` follows. Without the callback it would end the service
    // first.
    this.#channel.send?.(this.#outbox, () => undefined);
    failpoint("service.sent");
    this.#outbox = [];
  }

  #sendDelayed(): void {
    this.#timer = undefined;
    if (this.#delayed.length === 0) return;
    this.#outbox.push(...this.#delayed.splice(0));
    this.#timer = setTimeout(() => this.#sendDelayed(), DELAY_MS);
    this.flush();
  }

  #schedule(): void {
    if (this.#flushing || this.#closed) return;
    this.#flushing = true;
    setImmediate(() => this.flush());
  }
}

function isEmpty({ running, ended, notes }: FromKeeper & { readonly t: "snapshot" }): boolean {
  return running.length === 0 && ended.length === 0 && Object.keys(notes).length === 0;
}
