/** Escapes among the keys of a terminal, as in ssh: a tilde at the beginning of a line, and a letter. */

export type KeyReading = { readonly bytes: Uint8Array; readonly escape?: "leave" | "help" };

const TILDE = 0x7e;
const LINE_ENDS: readonly number[] = [0x0a, 0x0d];
const COMMANDS: Readonly<Record<number, KeyReading["escape"]>> = { 0x2e: "leave", 0x3f: "help" };

export class KeyEscapes {
  #isAtStart = true;
  /** A tilde at the beginning of a line, which was not passed on. */
  #hasTilde = false;

  /** What is to be sent of these keys, up to the first escape; what stands behind it is left out. */
  read(keys: Uint8Array): KeyReading {
    const bytes: number[] = [];
    for (const key of keys) {
      if (this.#hasTilde) {
        this.#hasTilde = false;
        const escape = COMMANDS[key];
        if (escape !== undefined) {
          this.#isAtStart = true;
          return { bytes: Uint8Array.from(bytes), escape };
        }
        bytes.push(TILDE);
        this.#isAtStart = LINE_ENDS.includes(key);
        if (key !== TILDE) bytes.push(key);
      } else if (key === TILDE && this.#isAtStart) this.#hasTilde = true;
      else {
        bytes.push(key);
        this.#isAtStart = LINE_ENDS.includes(key);
      }
    }
    return { bytes: Uint8Array.from(bytes) };
  }
}
