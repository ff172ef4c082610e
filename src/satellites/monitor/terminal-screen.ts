/** The terminal while the monitor has it: another screen, raw keys, no cursor; and as it was before. */
import type { ReadStream, WriteStream } from "node:tty";
import type { CellBuffer, ScreenSize } from "./cell-buffer.ts";
import { difference } from "./cell-diff.ts";
import type { KeyPress } from "./key-parser.ts";
import { readKeys, takeKeys } from "./terminal-keys.ts";

/** Alternate screen; no cursor; no line wrap, as characters may be wider than expected; pasted text is marked as such. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[?2004h\u001b[0m";
const LEAVE = "\u001b[?2026l\u001b[0m\u001b[?2004l\u001b[?7h\u001b[?25h\u001b[?1049l";
/** Presses of buttons, in decimal numbers. */
const MOUSE_ON = "\u001b[?1000h\u001b[?1006h";
const MOUSE_OFF = "\u001b[?1006l\u001b[?1000l";
/** A synchronised update: the terminal shows all of it at once. */
const BEGIN = "\u001b[?2026h";
const END = "\u001b[?2026l";
/** Size of a terminal that doesn't tell, as on a serial line. */
const USUAL: ScreenSize = { columns: 80, rows: 24 };

export type ScreenStreams = { readonly input: ReadStream; readonly output: WriteStream };

export class TerminalScreen {
  readonly #input: ReadStream;
  readonly #output: WriteStream;
  readonly #isMouse: boolean;
  #isEntered = false;
  #shown: CellBuffer | undefined;

  constructor({ input, output }: ScreenStreams, isMouse: boolean) {
    this.#input = input;
    this.#output = output;
    this.#isMouse = isMouse;
  }

  get size(): ScreenSize {
    const { columns, rows } = this.#output;
    return columns > 0 && rows > 0 ? { columns, rows } : USUAL;
  }

  onKeys(call: (keys: readonly KeyPress[]) => void): void {
    readKeys(this.#input, call);
  }

  /** Takes the terminal; also again after a suspension, in which another program may have changed it. */
  enter(): void {
    takeKeys(this.#input);
    this.#output.write(`${ENTER}${this.#isMouse ? MOUSE_ON : ""}`);
    this.#isEntered = true;
    this.forget();
  }

  /** Gives it back as it was. Does nothing if it was not taken. */
  leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#output.write(`${this.#isMouse ? MOUSE_OFF : ""}${LEAVE}`);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  /** The next frame is written whole. */
  forget(): void {
    this.#shown = undefined;
  }

  draw(cells: CellBuffer): void {
    if (!this.#isEntered) return;
    const change = difference(this.#shown, cells);
    this.#shown = cells;
    if (change !== "") this.#output.write(`${BEGIN}${change}${END}`);
  }
}
