/** `procman attach` on a terminal: what the process writes, and below it the line that is typed. */
import { constants as os } from "node:os";
import { LogFormatter } from "../client/connection/log-format.ts";
import { InputQueue } from "../client/input-queue.ts";
import type { LogItem, LogQuery } from "../core/contract/records.ts";
import { wantsColors } from "../core/os/colors.ts";
import { type Attachment, dropped, droppedBy, ENDED } from "./attachment.ts";
import { Lateness } from "./lateness.ts";
import { LineEditor } from "./output/line-editor.ts";

/** Output is drawn together that comes within this time, or is so long. Milliseconds; UTF-16 units. */
const BATCH_MS = 20;
const BATCH_LENGTH = 65_536;
/** Lines of a flood that are shown behind those that were skipped. */
const SHOWN_AFTER_SKIP = 100;
/** SIGHUP ends the command as it is: its terminal is gone, and can't be given back. */
const ENDING = ["SIGINT", "SIGTERM"] as const;
const ESCAPES = [
  "Ctrl-C, Ctrl-D or ~.  leave; the process goes on",
  "~c                    the byte that Ctrl-C is",
  "~~                    a tilde at the beginning of a line",
  "~?                    these lines",
];

/** Resolves when the user leaves, or procman has ended. @throws {ProcmanError} those of `LogReader.follow` */
export function attachTerminal(attachment: Attachment): Promise<void> {
  return new TerminalAttachment(attachment).run();
}

class TerminalAttachment {
  readonly #attachment: Attachment;
  readonly #formatter = new LogFormatter(wantsColors(process.stdout), true);
  readonly #stop = new AbortController();
  readonly #queue: InputQueue;
  readonly #editor: LineEditor;
  #unsent = "";

  constructor(attachment: Attachment) {
    const { control, id } = attachment;
    this.#attachment = attachment;
    this.#queue = new InputQueue(control, id, (isFull) => this.#full(isFull));
    this.#editor = new LineEditor({
      input: process.stdin,
      output: process.stdout,
      prompt: `${id}> `,
      onLine: (line, isPasted) => this.#take(line, isPasted),
      // At once, as in ssh.
      onKey: (line) => {
        if (line === "~.") this.#leave();
      },
      onLeave: () => this.#stop.abort(),
    });
  }

  async run(): Promise<void> {
    const { id, problem } = this.#attachment;
    for (const signal of ENDING) process.once(signal, () => process.exit(128 + os.signals[signal]));
    this.#say(`attached to ${id}; Ctrl-C or ~. leaves, ~? shows more`);
    if (problem !== undefined) this.#say(problem);
    try {
      await this.#show();
    } finally {
      this.#editor.close();
    }
    if (!this.#stop.signal.aborted) return this.#say(ENDED);
    const rest = await this.#rest();
    this.#say(`left ${id}; the process goes on${rest}`);
  }

  /** A flood is followed where it is, and its skipped lines leave a mark: what was typed, and its answer, are seen meanwhile. */
  async #show(): Promise<void> {
    const { id, query } = this.#attachment;
    const mark = `… lines are missing here: they come faster than they are shown; "procman logs ${id}" has them\n`;
    const { from: _from, ...rest } = query;
    for (let next = query; await this.#showFrom(next); next = { ...rest, limit: SHOWN_AFTER_SKIP })
      await this.#editor.write(mark);
  }

  /** Resolves with true, if it is too late. */
  async #showFrom(query: LogQuery): Promise<boolean> {
    const lateness = new Lateness();
    let text = "";
    let timer: NodeJS.Timeout | undefined;
    const draw = async (): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      const all = text;
      text = "";
      if (all !== "") await this.#editor.write(all);
    };
    try {
      for await (const item of this.#attachment.reader.follow(query, this.#stop.signal)) {
        const lost = await droppedBy(item, this.#attachment.run, this.#queue);
        text += this.#textOf(item) + (lost === undefined ? "" : noteOf(lost));
        timer ??= setTimeout(() => void draw(), BATCH_MS);
        if (text.length >= BATCH_LENGTH) await draw();
        if (item.type === "entry" && lateness.isTooLate(Date.parse(item.entry.time), Date.now())) return true;
      }
    } finally {
      await draw();
    }
    return false;
  }

  #textOf(item: LogItem): string {
    return item.type === "gap" ? this.#formatter.gap(item.bytes) : this.#formatter.bare(item.entry);
  }

  /** Escapes are typed: pasted text is sent as it is. */
  #take(line: string, isPasted: boolean): void {
    if (isPasted) return this.#send(`${line}\n`);
    switch (line) {
      case "~.":
        return this.#leave();
      case "~c":
        return this.#send("\u0003");
      case "~?":
        return void this.#editor.write(`${ESCAPES.join("\n")}\n`);
      default:
        return this.#send(`${line.startsWith("~~") ? line.slice(1) : line}\n`);
    }
  }

  /** The lines of a paste together. */
  #send(text: string): void {
    if (this.#unsent === "") queueMicrotask(() => this.#flush());
    this.#unsent += text;
  }

  #flush(): void {
    const bytes = Buffer.from(this.#unsent);
    this.#unsent = "";
    void this.#queue.send(bytes).catch((error: Error) => this.#refused(error));
  }

  /** What follows the refused line would be a surprise. */
  async #refused({ message }: Error): Promise<void> {
    const rest = await this.#rest();
    if (!this.#stop.signal.aborted) this.#say(`${message}${rest}`);
  }

  /** Drops what waits. */
  async #rest(): Promise<string> {
    const what = await dropped(this.#queue);
    return what === undefined ? "" : `; ${what}`;
  }

  #full(isFull: boolean): void {
    const { id } = this.#attachment;
    this.#say(
      isFull ? `${id} doesn't read its input; what you type waits until it does` : `${id} reads its input again`,
    );
  }

  #leave(): void {
    this.#editor.close();
    this.#stop.abort();
  }

  #say(text: string): void {
    void this.#editor.write(noteOf(text));
  }
}

function noteOf(text: string): string {
  return `procman: ${text}\n`;
}
