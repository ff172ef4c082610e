/** `procman attach` without a terminal, for scripts: standard input goes to the process, its output to the same outputs here. */
import { once } from "node:events";
import { LogFormatter } from "../client/connection/log-format.ts";
import { InputQueue } from "../client/input-queue.ts";
import { pause } from "../client/subscription.ts";
import type { LogItem } from "../core/contract/records.ts";
import { type Attachment, droppedBy, ENDED } from "./attachment.ts";

/** When the input has ended, the command waits until nothing was written for so long. Milliseconds. */
const QUIET_MS = 500;
/** A longer line is sent in parts. Bytes. */
const LONGEST_LINE = 65_536;
const LINE_END = 10;

/** `isFollowing`: the end of the input isn't that of the command. @throws {ProcmanError} those of `Control.input` and `LogReader.follow` */
export async function attachPipes(attachment: Attachment, isFollowing: boolean): Promise<void> {
  if (attachment.problem !== undefined) say(attachment.problem);
  const session = new PipeAttachment(attachment);
  await Promise.all([session.show(), session.send(isFollowing)]);
}

class PipeAttachment {
  readonly #attachment: Attachment;
  readonly #queue: InputQueue;
  readonly #stop = new AbortController();
  #isOver = false;
  /** When something was written last. */
  #written = 0;

  constructor(attachment: Attachment) {
    const { control, id } = attachment;
    this.#attachment = attachment;
    this.#queue = new InputQueue(control, id, (isFull) => {
      if (isFull) say(`${id} doesn't read its input; the rest waits until it does`);
    });
    // A second Ctrl-C kills the command.
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => this.#stop.abort());
  }

  async show(): Promise<void> {
    const { reader, query, run } = this.#attachment;
    try {
      for await (const item of reader.follow(query, this.#stop.signal)) {
        this.#written = performance.now();
        const lost = await droppedBy(item, run, this.#queue);
        await print(item);
        if (lost !== undefined) say(lost);
      }
      if (!this.#stop.signal.aborted) say(ENDED);
    } finally {
      this.#isOver = true;
      void this.#queue.drop();
      process.stdin.destroy();
    }
  }

  async send(isFollowing: boolean): Promise<void> {
    try {
      for await (const lines of linesOf(process.stdin)) await this.#queue.send(lines);
      if (!isFollowing) await this.#untilQuiet();
    } catch (error) {
      // Nobody sees the answers any more.
      if (this.#isOver) return;
      this.#stop.abort();
      throw error;
    }
  }

  async #untilQuiet(): Promise<void> {
    const { signal } = this.#stop;
    this.#written = Math.max(this.#written, performance.now());
    for (let leftMs = QUIET_MS; leftMs > 0 && !signal.aborted; leftMs = this.#written + QUIET_MS - performance.now())
      await pause(leftMs, signal);
    this.#stop.abort();
  }
}

/** As many whole lines as come together. */
async function* linesOf(stream: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    const all = Buffer.concat([rest, chunk as Buffer]);
    const end = all.length > LONGEST_LINE ? all.length : all.lastIndexOf(LINE_END) + 1;
    if (end > 0) yield all.subarray(0, end);
    rest = all.subarray(end);
  }
  if (rest.length > 0) yield rest;
}

/** On a terminal without what would act on it, else as it was written. Waits while the reader is slower. */
async function print(item: LogItem): Promise<void> {
  const isOutput = item.type === "entry" && item.entry.category === "stdout";
  const stream = isOutput ? process.stdout : process.stderr;
  if (!stream.write(textOf(item, stream.isTTY))) await once(stream, "drain");
}

const PLAIN = new LogFormatter(false);

function textOf(item: LogItem, isTerminal: boolean): string {
  if (item.type === "gap") return PLAIN.gap(item.bytes);
  const isWritten = item.entry.category === "stdout" || item.entry.category === "stderr";
  return isWritten && !isTerminal ? `${item.entry.text}\n` : PLAIN.bare(item.entry);
}

function say(text: string): void {
  process.stderr.write(`procman: ${text}\n`);
}
