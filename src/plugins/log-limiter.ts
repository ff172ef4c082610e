/** What a plugin says to the log: whole lines, so many a second and no more, whatever it does. */
import type { Severity } from "../contract/records.ts";

/** Lines a second in the long run, and at once. */
const PER_SECOND = 100;
const AT_ONCE = 500;
const MOST_CHARACTERS = 16_384;

export type LimitedLine = (severity: Severity, text: string) => void;

export class LogLimiter {
  readonly #said: LimitedLine;
  readonly #now: () => number;
  #credit = AT_ONCE;
  #last: number;
  #leftOut = 0;

  /** `now`: monotonic milliseconds. */
  constructor(said: LimitedLine, now: () => number = () => performance.now()) {
    this.#said = said;
    this.#now = now;
    this.#last = now();
  }

  /** One line, or several. */
  say(severity: Severity, text: string): void {
    for (const line of String(text).split("\n")) if (line.trim() !== "") this.#line(severity, line);
  }

  /** How many were left out, if that was not told yet. */
  flush(): void {
    if (this.#leftOut > 0) this.#said("warn", `${this.#leftOut} lines were left out: it says more than ${PER_SECOND} a second`);
    this.#leftOut = 0;
  }

  #line(severity: Severity, line: string): void {
    const now = this.#now();
    this.#credit = Math.min(AT_ONCE, this.#credit + ((now - this.#last) * PER_SECOND) / 1_000);
    this.#last = now;
    if (this.#credit < 1) {
      this.#leftOut += 1;
      return;
    }
    this.flush();
    this.#credit -= 1;
    this.#said(severity, line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line);
  }
}

/** For `write` of a stream: what has no line end yet waits, but not for ever. */
export function lineWriter(line: (text: string) => void): (chunk: unknown) => void {
  let rest = "";
  return (chunk) => {
    const parts = (rest + (chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : String(chunk))).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) line(part);
    if (rest.length < MOST_CHARACTERS) return;
    line(rest);
    rest = "";
  };
}
