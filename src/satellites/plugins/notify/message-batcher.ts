/** Collects events for one target and sends them as one message; events that come meanwhile go into the next message. */
import type { MessageKind } from "../../../core/plugins/shipped/notify-options.ts";

/** Longest time of collecting, while events keep coming. */
const MAX_WINDOW_MS = 600_000;

export type MessageBatcherPorts = {
  readonly source: string;
  readonly groupMs: number;
  /** Resolves when the message has arrived or was given up; never rejects. */
  readonly send: (message: Message) => Promise<void>;
  /** Called when nothing waits to be sent. */
  readonly onIdle: () => void;
  readonly now?: () => number;
};

export class MessageBatcher {
  readonly #ports: MessageBatcherPorts;
  readonly #digest: MessageDigest;
  readonly #now: () => number;
  #windowMs: number;
  #lastSent = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;

  constructor(ports: MessageBatcherPorts) {
    this.#ports = ports;
    this.#digest = new MessageDigest(ports.source);
    this.#windowMs = ports.groupMs;
    this.#now = ports.now ?? (() => performance.now());
  }

  get isIdle(): boolean {
    return this.#digest.isEmpty && this.#sending === undefined;
  }

  add(event: MessageEvent): void {
    this.#digest.add(event);
    this.#arm();
  }

  /** Sends waiting events now. */
  async flush(): Promise<void> {
    await this.#sending;
    if (this.isIdle) return;
    clearTimeout(this.#timer);
    await this.#send();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#sending !== undefined || this.#digest.isEmpty) return;
    // An event shortly after a message: a storm, so the next message is collected for longer.
    const isStorm = this.#now() - this.#lastSent < 2 * this.#windowMs;
    this.#windowMs = isStorm
      ? Math.min(Math.max(MAX_WINDOW_MS, this.#ports.groupMs), this.#windowMs * 2)
      : this.#ports.groupMs;
    this.#timer = setTimeout(() => void this.#send(), this.#windowMs);
  }

  #send(): Promise<void> {
    this.#timer = undefined;
    this.#sending = this.#ports.send(this.#digest.take()).finally(() => {
      this.#lastSent = this.#now();
      this.#sending = undefined;
      if (this.#digest.isEmpty) this.#ports.onIdle();
      this.#arm();
    });
    return this.#sending;
  }
}

export type MessageEvent = {
  readonly kind: MessageKind;
  readonly process: string;
  /** ISO 8601. */
  readonly time: string;
  /** One sentence. */
  readonly text: string;
  readonly times: number;
};

export type Message = { readonly title: string; readonly text: string; readonly happenings: readonly MessageEvent[] };

const WORDS: Readonly<Record<MessageKind, string>> = {
  crash: "crashed",
  exhausted: "exhausted",
  growth: "refused growth",
  recovered: "recovered",
};
const ORDER: readonly MessageKind[] = ["exhausted", "crash", "growth", "recovered"];
/** Most lines of a message; of further ones only the number is given. */
const MAX_LINES = 20;

/** Combines events into one message. */
export class MessageDigest {
  readonly #source: string;
  readonly #events = new Map<string, MessageEvent>();

  /** `source`: for the title, like `shop on host1`. */
  constructor(source: string) {
    this.#source = source;
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }

  /** Events of the same kind and process are counted; the text of the last one is kept. */
  add(event: MessageEvent): void {
    const key = `${event.kind} ${event.process}`;
    const previous = this.#events.get(key);
    this.#events.set(key, previous === undefined ? event : { ...event, times: previous.times + event.times });
  }

  /** The message with all events since the last one. */
  take(): Message {
    const all = [...this.#events.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    this.#events.clear();
    const counts = ORDER.flatMap((kind) =>
      countOf(
        all.filter((each) => each.kind === kind),
        kind,
      ),
    );
    const lines = all.slice(0, MAX_LINES).map(lineOf);
    const more = all.length > MAX_LINES ? [`and ${all.length - MAX_LINES} more`] : [];
    return {
      title: `procman ${this.#source}: ${counts.join(", ")}`,
      text: [...lines, ...more].join("\n"),
      happenings: all,
    };
  }
}

function countOf(of: readonly MessageEvent[], kind: MessageKind): readonly string[] {
  if (of.length === 0) return [];
  return [of.length === 1 ? `${of[0]?.process} ${WORDS[kind]}` : `${of.length} processes ${WORDS[kind]}`];
}

function lineOf({ process, kind, times, text }: MessageEvent): string {
  return `${process} ${WORDS[kind]}${times === 1 ? "" : ` ${times} times`}: ${text}`;
}
