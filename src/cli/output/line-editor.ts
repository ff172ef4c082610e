/** A line that is edited at the bottom of the terminal, while output comes in above it. */
import { once } from "node:events";
import { clearScreenDown, createInterface, cursorTo, type Interface, type Key, moveCursor } from "node:readline";
import type { ReadStream, WriteStream } from "node:tty";

/** The terminal marks what is pasted. */
const MARK_PASTES = "\u001b[?2004h";
const NO_MARKS = "\u001b[?2004l";
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
  readonly #lines: Interface;
  #isPasting = false;
  #isClosed = false;

  /** Takes the terminal, until `close`. */
  constructor(options: LineEditorOptions) {
    const { input, output, prompt, onLine } = options;
    this.#options = options;
    const history = { historySize: HISTORY, removeHistoryDuplicates: true };
    this.#lines = createInterface({ input, output, prompt, terminal: true, ...history })
      .on("line", (line) => {
        onLine(line, this.#isPasting);
        if (!this.#isClosed) this.#lines.prompt();
      })
      .on("SIGINT", () => {
        if (!this.#isPasting) this.#leave();
      })
      .on("SIGTSTP", () => this.#suspend())
      .on("close", () => this.#leave())
      .on("error", () => this.#leave());
    input.on("keypress", this.#onKey);
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
    input.off("keypress", this.#onKey);
    this.#erase();
    output.write(NO_MARKS);
    this.#lines.close();
  };

  #leave(): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onLeave();
  }

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
    if (rows > 0) moveCursor(output, 0, -rows);
    cursorTo(output, 0);
    clearScreenDown(output);
    return rows;
  }

  /** The interface draws from so many rows higher on. */
  #draw(rows: number): void {
    this.#options.output.write("\n".repeat(rows));
    this.#lines.prompt(true);
  }

  readonly #onKey = (_text: string | undefined, key: Key): void => {
    if (key.name === "paste-start" || key.name === "paste-end") this.#isPasting = key.name === "paste-start";
    else if (!this.#isPasting && !this.#isClosed) this.#options.onKey(this.#lines.line, key);
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
