/** Limits the log lines of a plugin: whole lines of limited length, at a limited rate. */
import { TokenBucket } from "../base/token-bucket.ts";
import type { Severity } from "../contract/records.ts";

/** Most lines a second in the long run, and in a burst. */
const PER_SECOND = 100;
const BURST = 500;
const MAX_CHARACTERS = 16_384;

export type LimitedLine = (severity: Severity, text: string) => void;

export class LogLimiter {
  readonly #write: LimitedLine;
  readonly #now: () => number;
  readonly #bucket: TokenBucket;
  #dropped = 0;

  /** `now`: monotonic milliseconds. */
  constructor(write: LimitedLine, now: () => number = () => performance.now()) {
    this.#write = write;
    this.#now = now;
    this.#bucket = new TokenBucket({ burst: BURST, perSecond: PER_SECOND }, now());
  }

  /** `text`: one or several lines. */
  log(severity: Severity, text: string): void {
    for (const line of String(text).split("\n")) if (line.trim() !== "") this.#line(severity, line);
  }

  /** Logs how many lines were dropped since the last time. */
  flush(): void {
    if (this.#dropped > 0)
      this.#write("warn", `${this.#dropped} lines were dropped: it writes more than ${PER_SECOND} a second`);
    this.#dropped = 0;
  }

  #line(severity: Severity, line: string): void {
    if (this.#bucket.waitMs(1, this.#now()) > 0) {
      this.#dropped += 1;
      return;
    }
    this.flush();
    this.#bucket.take(1);
    this.#write(severity, line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line);
  }
}

/** Splits chunks of a stream into lines. An unfinished line is kept for the next chunk, unless it is too long. */
export function lineWriter(line: (text: string) => void): (chunk: unknown) => void {
  let rest = "";
  return (chunk) => {
    const parts = (rest + (chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : String(chunk))).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) line(part);
    if (rest.length < MAX_CHARACTERS) return;
    line(rest);
    rest = "";
  };
}
