/** Reads a stream of events as browsers do (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export type ServerSentEvent = { readonly type: string; readonly data: string; readonly id: string };

export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  /** The last line ended with a CR, which an LF may follow. */
  #afterReturn = false;
  #type = "";
  #data: string[] = [];
  #id = "";
  #retryMs: number | undefined;

  /** Id of the last event: what a new connection begins after. */
  get lastEventId(): string {
    return this.#id;
  }

  /** What the server asks to wait before one comes again. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The events that this piece completes; it may end anywhere, also within a character. */
  read(chunk: Uint8Array): readonly ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    for (const line of this.#lines(this.#decoder.decode(chunk, { stream: true }))) {
      if (line !== "") this.#take(line);
      else {
        const event = this.#dispatch();
        if (event !== undefined) events.push(event);
      }
    }
    return events;
  }

  /** Another connection: what had begun is lost, the id stays. */
  reset(): void {
    this.#decoder.decode();
    this.#rest = "";
    this.#afterReturn = false;
    this.#type = "";
    this.#data = [];
  }

  /** Lines end with CR LF, LF or CR. */
  #lines(text: string): readonly string[] {
    const given = this.#afterReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#afterReturn = text.endsWith("\r");
    const lines = (this.#rest + given).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }

  #dispatch(): ServerSentEvent | undefined {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}
