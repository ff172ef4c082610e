/** `procman attach` of a process with a terminal: keys go there as they are, and what is printed there is printed here. */
import { once } from "node:events";
import { constants as os } from "node:os";
import { InputQueue } from "../client/input-queue.ts";
import { pause } from "../client/subscription.ts";
import { ProcmanError } from "../core/base/errors.ts";
import type { Control, ProcessInput } from "../core/contract/control.ts";
import type { ScreenItem } from "../core/contract/screen.ts";
import type { TerminalSize } from "../core/os/pseudo-terminal.ts";
import { dropped } from "./attachment.ts";
import { KeyEscapes } from "./output/key-escapes.ts";
import { TerminalModes } from "./output/terminal-modes.ts";

/** A program draws its screen anew when the size changes: it has another one for so long. Milliseconds. */
const REDRAW_MS = 50;
/** Between two looks whether procman is there, and until it counts as gone. Milliseconds. */
const LOOK_MS = 2_000;
const GONE_MS = 10_000;
/** SIGHUP ends the command as it is: its terminal is gone, and can't be given back. */
const ENDING = ["SIGINT", "SIGTERM"] as const;
const LINE_FEED = 10;
const USUAL = { rows: 24, columns: 80 } as const;
const ESCAPES = [
  "~.  leave; the process goes on",
  "~~  a tilde at the beginning of a line",
  "~?  these lines",
  "Everything else, also Ctrl-C, goes to the process.",
];

type ScreenAttachment = { readonly id: string; readonly control: Pick<Control, "input" | "screen"> };

/** Resolves when the user leaves, or procman has ended. @throws {ProcmanError} those of `Control.screen` */
export function attachScreen(attachment: ScreenAttachment): Promise<void> {
  return new AttachedScreen(attachment).run();
}

class AttachedScreen {
  readonly #id: string;
  readonly #control: ScreenAttachment["control"];
  readonly #stop = new AbortController();
  readonly #queue: InputQueue;
  readonly #escapes = new KeyEscapes();
  readonly #modes = new TerminalModes();
  #isGone = false;
  /** Whether what was printed last ends within a line. */
  #isWithin = false;
  /** The last refusal that was shown: the next keys would get the same. */
  #refusal = "";

  constructor({ id, control }: ScreenAttachment) {
    this.#id = id;
    this.#control = control;
    // Each key brings the size of the window in which it was typed.
    const sized = { input: (to: string, input: ProcessInput) => control.input(to, { ...input, size: sizeHere() }) };
    this.#queue = new InputQueue(sized, id, (isFull) => {
      if (isFull) this.#say(`${id} doesn't read its input; what you type waits until it does`);
    });
  }

  async run(): Promise<void> {
    const { stdin, stdout } = process;
    for (const signal of ENDING) process.once(signal, () => process.exit(128 + os.signals[signal]));
    process.once("exit", this.#restore);
    this.#say(`attached to ${this.#id}; Enter ~. leaves, ~? shows more`);
    stdin.setRawMode(true);
    stdin.on("data", this.#onKeys).once("end", this.#leave);
    stdout.on("resize", this.#onResize).once("error", this.#leave);
    void this.#watch();
    try {
      for await (const item of this.#control.screen(this.#id, this.#stop.signal)) await this.#show(item);
    } finally {
      this.#stop.abort();
      this.#restore();
      stdout.off("resize", this.#onResize);
      stdin.off("data", this.#onKeys).destroy();
    }
    if (this.#isGone) return this.#say("it is not running any more");
    const rest = await this.#rest();
    this.#say(`left ${this.#id}; the process goes on${rest}`);
  }

  async #show(item: ScreenItem): Promise<void> {
    if (item.type === "begun") return this.#redraw();
    if (item.type === "over") return this.#ended();
    const bytes = Buffer.from(item.data, "base64");
    this.#modes.pass(bytes);
    this.#isWithin = bytes.at(-1) !== LINE_FEED;
    if (!process.stdout.write(bytes)) await once(process.stdout, "drain");
  }

  /** At the beginning, and after a connection was lost. */
  async #redraw(): Promise<void> {
    this.#refusal = "";
    const { rows, columns } = sizeHere();
    await this.#resize({ rows, columns: columns > 1 ? columns - 1 : 2 });
    await pause(REDRAW_MS, this.#stop.signal);
    await this.#resize(sizeHere());
  }

  /** What it has switched on stays with this terminal otherwise. */
  async #ended(): Promise<void> {
    process.stdout.write(this.#modes.reset());
    const rest = await this.#rest();
    this.#say(`${this.#id} has ended${rest}; Enter ~. leaves, its next run is shown here`);
  }

  readonly #onKeys = (keys: Buffer): void => {
    const { bytes, command } = this.#escapes.read(keys);
    if (bytes.length > 0) this.#queue.send(bytes).catch((error: Error) => this.#refused(error));
    if (command === "leave") this.#leave();
    if (command === "help") this.#say(ESCAPES.join("\nprocman: "));
  };

  readonly #onResize = (): void => void this.#resize(sizeHere());

  readonly #leave = (): void => this.#stop.abort();

  readonly #restore = (): void => {
    process.off("exit", this.#restore);
    process.stdout.write(this.#modes.reset());
    // A terminal that is gone has no mode.
    if (!process.stdin.destroyed) process.stdin.setRawMode(false);
  };

  /** What follows the refused keys would be a surprise. */
  async #refused({ message }: Error): Promise<void> {
    const rest = await this.#rest();
    if (this.#stop.signal.aborted || message === this.#refusal) return;
    this.#refusal = message;
    this.#say(`${message}${rest}`);
  }

  /** Drops what waits. */
  async #rest(): Promise<string> {
    const what = await dropped(this.#queue);
    return what === undefined ? "" : `; ${what}`;
  }

  async #resize(size: TerminalSize): Promise<void> {
    // Its end is shown by the stream.
    await this.#control.input(this.#id, { text: "", size }).catch(() => undefined);
  }

  /** The stream is connected again and again: only this tells that there is no procman any more. */
  async #watch(): Promise<void> {
    const { signal } = this.#stop;
    for (let since: number | undefined; !signal.aborted; await pause(LOOK_MS, signal)) {
      const isDown = await this.#isDown();
      since = isDown ? (since ?? performance.now()) : undefined;
      if (since === undefined || performance.now() - since < GONE_MS) continue;
      this.#isGone = true;
      this.#leave();
    }
  }

  async #isDown(): Promise<boolean> {
    try {
      await this.#control.input(this.#id, { text: "" });
      return false;
    } catch (error) {
      return !(error instanceof ProcmanError) || error.code === "service-down";
    }
  }

  /** On a new line; what a program has left below it is cleared. */
  #say(text: string): void {
    process.stdout.write(`${this.#isWithin ? "\n" : ""}\x1b[Jprocman: ${text}\n`.replaceAll("\n", "\r\n"));
    this.#isWithin = false;
  }
}

/** Some terminals have no size until they are shown. */
function sizeHere(): TerminalSize {
  const { rows, columns } = process.stdout;
  return { rows: rows || USUAL.rows, columns: columns || USUAL.columns };
}
