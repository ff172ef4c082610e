/** Messages as lines of JSON in a text stream. */

/** Longest line. An environment and a thousand instances fit many times. */
const MAX_LENGTH = 8 << 20;

/** `refused`: a line that is no message of this kind. Without it, such a line is an uncaught error. */
type LineEvents<Message> = {
  readonly message: (message: Message) => void;
  readonly refused: (problem: string) => void;
  /** Longest line, in characters. */
  readonly maxLength?: number;
};

/** Collects chunks of text and reports complete messages. */
export class JsonLines<Message> {
  readonly #on: LineEvents<Message> | ((message: Message) => void);
  readonly #maxLength: number;
  #rest = "";
  /** The rest of a line that is too long is dropped. */
  #isDropping = false;

  constructor(on: LineEvents<Message> | ((message: Message) => void)) {
    this.#on = on;
    this.#maxLength = typeof on === "function" ? Number.POSITIVE_INFINITY : (on.maxLength ?? MAX_LENGTH);
  }

  push(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#append(text.slice(start, end));
      start = end + 1;
      this.#onLine();
    }
    this.#append(text.slice(start));
  }

  #append(part: string): void {
    if (this.#isDropping) return;
    this.#rest += part;
    if (this.#rest.length <= this.#maxLength) return;
    this.#isDropping = true;
    this.#rest = "";
    if (typeof this.#on !== "function") this.#on.refused(`a line is longer than ${this.#maxLength} characters`);
  }

  #onLine(): void {
    const line = this.#rest;
    this.#rest = "";
    if (!this.#isDropping) this.#parse(line);
    this.#isDropping = false;
  }

  #parse(line: string): void {
    const on = this.#on;
    if (typeof on === "function") return on(JSON.parse(line) as Message);
    let message: Message;
    try {
      message = JSON.parse(line) as Message;
    } catch (error) {
      return on.refused(`a line is no JSON: ${(error as Error).message}`);
    }
    on.message(message);
  }
}

export function jsonLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
