/** A line that is edited at the bottom of the terminal, while output comes in above it. */
import { once } from "node:events";
import type { Interface, Key } from "node:readline";
import { PassThrough } from "node:stream";
import type { ReadStream, WriteStream } from "node:tty";

/** The terminal marks what is pasted. */
const MARK_PASTES = "\u001b[?2004h";
const NO_MARKS = "\u001b[?2004l";
const PASTE = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** Would act on the terminal, or on the line. */
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
/** Loaded once a line is edited: other commands of the same file don't use it. */
const readline = (): typeof import("node:readline") => process.getBuiltinModule("node:readline");
/** Lines that the arrow keys bring back. */
const HISTORY = 1_000;
/** A job that could not be suspended goes on after this time. Milliseconds. */
const RESUME_MS = 50;

export type LineEditorOptions = {
  readonly input: ReadStream;
  readonly output: WriteStream;
  readonly prompt: string;
  /** A line, without its end. */
  readonly onLine: (line: string, isPasted: boolean) => void;
  /** The line as a typed key has left it, before its end. */
  readonly onKey: (line: string, key: Key) => void;
  /** Ctrl-C, Ctrl-D on an empty line, or the end of the terminal; the editor is closed. */
  readonly onLeave: () => void;
};

export class LineEditor {
  readonly #options: LineEditorOptions;
  /** Takes one character at a time: of several at once, Node's interface puts all at the end of the line. */
  readonly #keys = new PassThrough();
  readonly #lines: Interface;
  /** What may be the beginning of a mark. */
  #rest = "";
  #isPasting = false;
  #isClosed = false;

  /** Takes the terminal, until `close`. */
  constructor(options: LineEditorOptions) {
    const { input, output, prompt, onLine } = options;
    this.#options = options;
    const history = { historySize: HISTORY, removeHistoryDuplicates: true };
    this.#lines = readline()
      .createInterface({ input: this.#keys, output, prompt, terminal: true, ...history })
      .on("line", (line) => {
        onLine(line, this.#isPasting);
        if (!this.#isClosed) this.#lines.prompt();
      })
      .on("SIGINT", this.#leave)
      .on("SIGTSTP", () => this.#suspend())
      .on("close", this.#leave);
    this.#keys.on("keypress", this.#onKey);
    input.setEncoding("utf8").on("data", this.#onData).once("end", this.#leave).on("error", this.#leave);
    input.setRawMode(true).resume();
    // Also after an error that no part has caught.
    process.once("exit", this.close);
    output.write(MARK_PASTES);
    this.#lines.prompt();
  }

  /** Writes whole lines, each with its end, above the edited one. Resolves when the terminal has room for more. */
  async write(lines: string): Promise<void> {
    const { output } = this.#options;
    if (this.#isClosed) output.write(lines);
    else this.#above(lines);
    if (output.writableNeedDrain) await once(output, "drain");
  }

  /** Gives the terminal back, without the line. */
  readonly close = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { input, output } = this.#options;
    process.off("exit", this.close);
    input.off("data", this.#onData).off("end", this.#leave).pause();
    input.setRawMode(false);
    this.#erase();
    output.write(NO_MARKS);
    this.#lines.close();
  };

  readonly #leave = (): void => {
    if (this.#isClosed) return;
    this.close();
    this.#options.onLeave();
  };

  /** In one piece: otherwise the line flickers. */
  #above(lines: string): void {
    const { output } = this.#options;
    output.cork();
    const rows = this.#erase();
    output.write(lines);
    this.#draw(rows);
    output.uncork();
  }

  /** The cursor is where the line began, so many rows higher. */
  #erase(): number {
    const { output } = this.#options;
    const { rows } = this.#lines.getCursorPos();
    if (rows > 0) readline().moveCursor(output, 0, -rows);
    readline().cursorTo(output, 0);
    readline().clearScreenDown(output);
    return rows;
  }

  /** The interface draws from so many rows higher on. */
  #draw(rows: number): void {
    this.#options.output.write("\n".repeat(rows));
    this.#lines.prompt(true);
  }

  readonly #onData = (chunk: string): void => {
    let text = this.#rest + chunk;
    this.#rest = "";
    while (text !== "" && !this.#isClosed) {
      const mark = this.#isPasting ? PASTE_END : PASTE;
      const at = text.indexOf(mark);
      const end = at < 0 ? text.length - cutOf(text, mark, this.#isPasting ? 1 : 2) : at;
      if (this.#isPasting) this.#paste(text.slice(0, end));
      else this.#type(text.slice(0, end));
      if (at < 0) this.#rest = text.slice(end);
      else this.#isPasting = !this.#isPasting;
      text = at < 0 ? "" : text.slice(at + mark.length);
    }
  };

  #type(text: string): void {
    for (const character of text) if (!this.#isClosed) this.#keys.emit("data", character);
  }

  /** Where the cursor is. */
  #paste(text: string): void {
    for (const [index, line] of text
      .replaceAll(CONTROLS, "")
      .split(/\r\n|\r|\n/)
      .entries()) {
      if (index > 0) this.#lines.write(null, { name: "return" });
      if (line !== "") this.#lines.write(line);
    }
  }

  readonly #onKey = (_text: string | undefined, key: Key): void => {
    if (!this.#isClosed) this.#options.onKey(this.#lines.line, key);
  };

  #suspend(): void {
    const { input, output } = this.#options;
    const rows = this.#erase();
    output.write(NO_MARKS);
    input.setRawMode(false);
    setTimeout(() => {
      if (this.#isClosed) return;
      input.setRawMode(true);
      output.write(MARK_PASTES);
      this.#draw(rows);
    }, RESUME_MS);
    // The whole job, as the terminal does it: a shell waits for npx, not for this process.
    process.kill(0, "SIGTSTP");
  }
}

/** How many characters at the end of the text, but at least `least`, may be the beginning of the mark. One typed alone is a key. */
function cutOf(text: string, mark: string, least: number): number {
  for (let length = Math.min(text.length, mark.length - 1); length >= least; length -= 1)
    if (mark.startsWith(text.slice(-length))) return length;
  return 0;
}
