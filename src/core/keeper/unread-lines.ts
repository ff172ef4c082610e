/** procman's own lines for the next logger: those that none has read, and the last ones before, which a killed logger may not have stored. */
import type { LoggerMessage } from "../ipc/logger-protocol.ts";
import { warn } from "./log.ts";

const LIMIT = 10_000;
/** Of the lines that a logger may have read: their number, their characters together, and their age in milliseconds. */
const READ_LINES = 1_000;
const READ_CHARACTERS = 1_000_000;
const READ_MS = 300_000;

export class UnreadLines {
  #lines: LoggerMessage[] = [];
  readonly #read: LoggerMessage[] = [];
  #readCharacters = 0;
  #dropped = 0;
  readonly #report: (problem: string) => void;

  constructor(report: (problem: string) => void = warn) {
    this.#report = report;
  }

  /** `isRead`: it is sent to a logger that has answered. */
  add(line: LoggerMessage, isRead = false): void {
    if (isRead) this.#keep(line);
    else if (this.#lines.length < LIMIT) this.#lines.push(line);
    else this.#dropped += 1;
  }

  /** For a logger that was just started. */
  get all(): readonly LoggerMessage[] {
    const since = Date.now() - READ_MS;
    return [...this.#read.filter(({ at }) => at > since).map((line) => ({ ...line, isAgain: true }) as const), ...this.#lines];
  }

  /** The logger has answered: what was sent to it is in its channel. */
  clear(): void {
    if (this.#dropped > 0) this.#report(`${this.#dropped} lines of procman itself are lost: no logger could be started in time`);
    for (const line of this.#lines) this.#keep(line);
    this.#lines = [];
    this.#dropped = 0;
  }

  /** Not lines of programs and plugins (`category`): they may come faster than a logger writes, and who sends one to the log gets a receipt. */
  #keep(line: LoggerMessage): void {
    if (line.category !== undefined && line.category !== "api") return;
    this.#read.push(line);
    this.#readCharacters += line.text.length;
    while (this.#read.length > READ_LINES || this.#readCharacters > READ_CHARACTERS)
      this.#readCharacters -= this.#read.shift()?.text.length ?? 0;
  }
}
