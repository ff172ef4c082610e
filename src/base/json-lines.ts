/** Messages as lines of JSON in a text stream. */

/** Collects chunks of text and reports complete messages. */
export class JsonLines<Message> {
  readonly #onMessage: (message: Message) => void;
  #rest = "";

  constructor(onMessage: (message: Message) => void) {
    this.#onMessage = onMessage;
  }

  push(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#onMessage(JSON.parse(line) as Message);
  }
}

export function jsonLine(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
