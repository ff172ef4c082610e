/** Input for one process, in order: while the process doesn't read, what there is no room for waits here. */
import { ProcmanError } from "../core/base/errors.ts";
import type { Control, ProcessInput } from "../core/contract/control.ts";
import { pause } from "./subscription.ts";

/** Bytes of a request: what a pipe holds. */
const REQUEST_BYTES = 65_536;
/** More doesn't wait here. */
const MOST_WAITING_BYTES = 1_048_576;
/** Pauses before the next attempts while the pipe is full: doubled up to the longest. Milliseconds. */
const FIRST_MS = 20;
const LONGEST_MS = 500;
/** After this pause the process counts as one that doesn't read: others have read some of it by then. Milliseconds. */
const UNREAD_MS = 160;

export type InputControl = Pick<Control, "input">;

export class InputQueue {
  readonly #control: InputControl;
  readonly #id: string;
  readonly #onFull: (isFull: boolean) => void;
  #isFull = false;
  #dropping = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #taken = 0;

  /** `onFull`: called when the process doesn't read, and when it has read what waited. */
  constructor(control: InputControl, id: string, onFull: (isFull: boolean) => void) {
    this.#control = control;
    this.#id = id;
    this.#onFull = onFull;
  }

  /** Bytes that the process has got. */
  get taken(): number {
    return this.#taken;
  }

  /**
   * A text is typed: on a terminal its line ends are the key Enter. Resolves when the process has all of it in its pipe; with false, if it was dropped before. Who catches an error can
   * drop what waits before any of it is sent.
   *
   * @throws {ProcmanError} those of `Control.input`; `input-full` only if too much waits already
   */
  send(typed: Uint8Array | string): Promise<boolean> {
    const isText = typeof typed === "string";
    const bytes = isText ? new TextEncoder().encode(typed) : typed;
    if (this.#waiting > 0 && this.#waiting + bytes.length > MOST_WAITING_BYTES)
      return Promise.reject(this.#tooMuch(bytes.length));
    this.#waiting += bytes.length;
    const { signal } = this.#dropping;
    const sent = this.#last.then(() => this.#deliver(bytes, isText, signal));
    // Its caller gets the error; what follows it is tried all the same.
    this.#last = sent.catch(() => undefined);
    return sent;
  }

  /** What waits is not sent any more. Resolves with its number of bytes, when a request under way has its answer. */
  drop(): Promise<number> {
    const all = this.#taken + this.#waiting;
    this.#isFull = false;
    this.#dropping.abort();
    this.#dropping = new AbortController();
    return this.#last.then(() => all - this.#taken);
  }

  async #deliver(bytes: Uint8Array, isText: boolean, signal: AbortSignal): Promise<boolean> {
    let rest = bytes;
    try {
      for (let pauseMs = FIRST_MS; rest.length > 0 && !signal.aborted; ) {
        const part = rest.subarray(0, REQUEST_BYTES);
        const taken = await this.#try(isText ? textInput(part) : { data: base64Of(part) }, part.length);
        this.#taken += taken;
        this.#waiting -= taken;
        rest = rest.subarray(taken);
        if (taken === part.length || signal.aborted) continue;
        if (pauseMs >= UNREAD_MS) this.#setFull(true);
        await pause(pauseMs, signal);
        pauseMs = taken > 0 ? FIRST_MS : Math.min(LONGEST_MS, pauseMs * 2);
      }
    } finally {
      this.#waiting -= rest.length;
    }
    if (rest.length === 0 && this.#waiting === 0) this.#setFull(false);
    return rest.length === 0;
  }

  #setFull(isFull: boolean): void {
    if (isFull === this.#isFull) return;
    this.#isFull = isFull;
    this.#onFull(isFull);
  }

  /** How many bytes the pipe had room for. */
  async #try(input: ProcessInput, length: number): Promise<number> {
    try {
      await this.#control.input(this.#id, input);
      return length;
    } catch (error) {
      if (error instanceof ProcmanError && error.code === "input-full") return error.taken ?? 0;
      throw error;
    }
  }

  #tooMuch(bytes: number): ProcmanError {
    const why = `it doesn't read its input, and ${this.#waiting} bytes wait for it`;
    return new ProcmanError("input-full", `Cannot send ${bytes} bytes to "${this.#id}": ${why}`, { taken: 0 });
  }
}

/** Bytes, if a character is cut: the pipe had room for a part of it. */
function textInput(part: Uint8Array): ProcessInput {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(part);
  return text.includes("\uFFFD") ? { data: base64Of(part) } : { text };
}

/** Base64, also in browsers. */
function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
