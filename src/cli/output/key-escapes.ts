/** Escapes among the keys of a terminal, as in ssh: a tilde at the beginning of a line, and a letter. */

type KeyReading = { readonly bytes: Uint8Array; readonly command?: "leave" | "help" };

const TILDE = 0x7e;
const LINE_ENDS: readonly number[] = [0x0a, 0x0d];
const COMMANDS: Readonly<Record<number, KeyReading["command"]>> = { 46: "leave", 63: "help" };

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
        const command = COMMANDS[key];
        if (command !== undefined) return { bytes: Uint8Array.from(bytes), command };
        bytes.push(TILDE);
        this.#isAtStart = false;
        if (key === TILDE) continue;
      } else if (key === TILDE && this.#isAtStart) {
        this.#hasTilde = true;
        continue;
      }
      bytes.push(key);
      this.#isAtStart = LINE_ENDS.includes(key);
    }
    return { bytes: Uint8Array.from(bytes) };
  }
}
