/** Messages for one target: gathered for a while, then sent; what comes in the meantime is the next message. */
import type { MessageKind } from "./options.ts";

/** The longest time that is gathered, while a storm goes on. Milliseconds. */
const LONGEST_MS = 600_000;

export type MessageBatcherPorts = {
  readonly whose: string;
  readonly groupMs: number;
  /** Resolves when it has arrived, or never will; rejects with nothing. */
  readonly send: (message: Message) => Promise<void>;
  /** Nothing waits any more. */
  readonly idle: () => void;
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
    this.#digest = new MessageDigest(ports.whose);
    this.#windowMs = ports.groupMs;
    this.#now = ports.now ?? (() => performance.now());
  }

  get isIdle(): boolean {
    return this.#digest.isEmpty && this.#sending === undefined;
  }

  add(happening: MessageEvent): void {
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

/** What happened, put together: a storm is one message. */

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

const WORDS: Readonly<Record<MessageKind, string>> = { crash: "crashed", exhausted: "exhausted", recovered: "recovered" };
const ORDER: readonly MessageKind[] = ["exhausted", "crash", "recovered"];
/** Of more processes only the number is told. */
const MOST_LINES = 20;

export class MessageDigest {
  readonly #whose: string;
  readonly #happenings = new Map<string, MessageEvent>();

  /** `whose`: in the title, as `shop on host1`. */
  constructor(whose: string) {
    this.#whose = whose;
  }

  get isEmpty(): boolean {
    return this.#happenings.size === 0;
  }

  /** The same again is counted; its last words stay. */
  add(happening: MessageEvent): void {
    const key = `${happening.kind} ${happening.process}`;
    const before = this.#happenings.get(key);
    this.#happenings.set(key, before === undefined ? happening : { ...happening, times: before.times + happening.times });
  }

  /** All that came since the last one. */
  take(): Message {
    const all = [...this.#happenings.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    this.#happenings.clear();
    const counts = ORDER.flatMap((kind) =>
      countOf(
        all.filter((each) => each.kind === kind),
        kind,
      ),
    );
    const lines = all.slice(0, MOST_LINES).map(lineOf);
    const more = all.length > MOST_LINES ? [`and ${all.length - MOST_LINES} more`] : [];
    return { title: `procman ${this.#whose}: ${counts.join(", ")}`, text: [...lines, ...more].join("\n"), happenings: all };
  }
}

function countOf(of: readonly MessageEvent[], kind: MessageKind): readonly string[] {
  if (of.length === 0) return [];
  return [of.length === 1 ? `${of[0]?.process} ${WORDS[kind]}` : `${of.length} processes ${WORDS[kind]}`];
}

function lineOf({ process, kind, times, text }: MessageEvent): string {
  return `${process} ${WORDS[kind]}${times === 1 ? "" : ` ${times} times`}: ${text}`;
}
