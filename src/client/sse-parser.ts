/** Parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */

export type ServerSentEvent = { readonly type: string; readonly data: string; readonly id: string };

export class EventParser {
  readonly #decoder = new TextDecoder();
  #rest = "";
  /** The last line ended with a CR, which an LF may follow. */
  #afterReturn = false;
  #type = "";
  #data: string[] = [];
  /** Id of the incomplete event; it takes effect once the event is complete. */
  #nextId = "";
  #id = "";
  #retryMs: number | undefined;

  /** Id of the last event, after which a new connection continues. */
  get lastEventId(): string {
    return this.#id;
  }

  /** Delay before reconnecting that the server asked for, in milliseconds. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** The events completed by this chunk, which may end anywhere, even within a character. */
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

  /** Starts a new connection: an incomplete event is dropped. */
  reset(): void {
    this.#nextId = this.#id;
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
    // Not the whole line again with each chunk.
    const [first = "", ...others] = given.split(/\r\n|\n|\r/);
    const lines = [this.#rest + first, ...others];
    this.#rest = lines.pop() ?? "";
    return lines;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#nextId = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#retryMs = Number(value);
  }

  #dispatch(): ServerSentEvent | undefined {
    this.#id = this.#nextId;
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    return isEmpty ? undefined : event;
  }
}
