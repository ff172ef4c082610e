/** Messages as lines of JSON in a text stream. */

/** Longest line. An environment and a thousand instances fit many times. */
const MAX_LENGTH = 8 << 20;
/** How many characters of a refused line an error shows. */
const SHOWN = 40;

/** `refused`: a line that is not a JSON object, or too long. */
type LineEvents<Message> = {
  readonly message: (message: Message) => void;
  readonly refused: (problem: string) => void;
  /** Longest line, in characters. */
  readonly maxLength?: number;
};

/** Collects chunks of text and reports complete messages. */
export class JsonLines<Message> {
  readonly #on: LineEvents<Message>;
  readonly #maxLength: number;
  #rest = "";
  /** The rest of a line that is too long is dropped. */
  #isDropping = false;

  constructor(on: LineEvents<Message>) {
    this.#on = on;
    this.#maxLength = on.maxLength ?? MAX_LENGTH;
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
    this.#on.refused(`a line is longer than ${this.#maxLength} characters`);
  }

  #onLine(): void {
    const line = this.#rest;
    this.#rest = "";
    if (!this.#isDropping) this.#parse(line);
    this.#isDropping = false;
  }

  #parse(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch (error) {
      return this.#on.refused(`a line is not JSON: ${(error as Error).message}`);
    }
    if (typeof message !== "object" || message === null)
      return this.#on.refused(`a line is not a message: ${line.slice(0, SHOWN)}`);
    this.#on.message(message as Message);
  }
}

export function jsonLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
