/** The private modes (`ESC [ ? 1049 h`) that output leaves switched on: another screen, the mouse, marked pastes, a hidden cursor. */

const MODE = /\x1b\[\?(\d+(?:;\d+)*)([hl])/g;
/** Modes that terminals have on at first: the cursor is shown, lines are wrapped. */
const USUALLY_ON: ReadonlySet<string> = new Set(["7", "25"]);
/** A sequence may be cut: so many bytes of the end are looked at again. */
const LONGEST = 32;

export class TerminalModes {
  /** Modes that differ from the usual. */
  readonly #changed = new Set<string>();
  #rest = "";

  /** Output that goes to the terminal. */
  pass(bytes: Uint8Array): void {
    const text = this.#rest + Buffer.from(bytes).toString("latin1");
    for (const [, modes = "", letter] of text.matchAll(MODE))
      for (const mode of modes.split(";")) {
        if ((letter === "h") === USUALLY_ON.has(mode)) this.#changed.delete(mode);
        else this.#changed.add(mode);
      }
    this.#rest = text.slice(-LONGEST);
  }

  /** What brings the terminal back, also to its usual colors; nothing, if no output went there. */
  reset(): string {
    const modes = [...this.#changed].map((mode) => `\x1b[?${mode}${USUALLY_ON.has(mode) ? "h" : "l"}`);
    const isNeeded = this.#rest !== "";
    this.#changed.clear();
    this.#rest = "";
    return isNeeded ? `${modes.join("")}\x1b[0m` : "";
  }
}
