/** procman's own lines while no logger has answered: a logger that ends before reads none of them, and the next one gets them. */
import type { LoggerMessage } from "../ipc/logger-protocol.ts";
import { warn } from "./log.ts";

const LIMIT = 10_000;

export class UnreadLines {
  #lines: LoggerMessage[] = [];
  #dropped = 0;
  readonly #report: (problem: string) => void;

  constructor(report: (problem: string) => void = warn) {
    this.#report = report;
  }

  add(line: LoggerMessage): void {
    if (this.#lines.length < LIMIT) this.#lines.push(line);
    else this.#dropped += 1;
  }

  /** For a logger that was just started. */
  get all(): readonly LoggerMessage[] {
    return this.#lines;
  }

  /** The logger has answered: what was sent to it is in its channel. */
  clear(): void {
    if (this.#dropped > 0) this.#report(`${this.#dropped} lines of procman itself are lost: no logger could be started in time`);
    this.#lines = [];
    this.#dropped = 0;
  }
}
