/**
 * Entries that programs add to the log, on their way to the logger. A limited number of bytes is under way at a time,
 * so that log text neither delays the service's commands nor fills memory; the logger confirms each entry once it is
 * stored.
 */
import { ProcmanError } from "../base/errors.ts";
import type { FromLogger, LoggerMessage } from "../ipc/logger-protocol.ts";
import type { Log } from "./services.ts";

/** Bytes of text on their way to the logger. One entry always is. */
const UNDER_WAY_BYTES = 262_144;
/** Bytes and entries that wait for that; further entries are refused. */
const WAITING_BYTES = 4_194_304;
const WAITING_ENTRIES = 10_000;
/** Without a confirmation for this long, the store is read: a logger that was replaced confirms nothing. Milliseconds. */
const CONFIRM_MS = 3_000;
/** Counted for an entry in addition to its text. Bytes. */
const ENTRY_BYTES = 200;

export type Submission = Omit<LoggerMessage, "t" | "receipt">;

type PendingSubmission = {
  readonly entry: Submission;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: ProcmanError) => void;
  timer?: NodeJS.Timeout;
};

export class LogSubmissions {
  readonly #log: Pick<Log, "addNow">;
  readonly #isStored: (entry: Submission) => Promise<boolean>;
  readonly #confirmMs: number;
  readonly #waiting: PendingSubmission[] = [];
  #waitingBytes = 0;
  /** By the number of the receipt. */
  readonly #underWay = new Map<number, PendingSubmission>();
  #underWayBytes = 0;
  /** Begins with the time in microseconds: a confirmation for an earlier service confirms nothing here. */
  #lastReceipt = Date.now() * 1_000;

  /** `isStored`: whether the log store has the entry. */
  constructor(log: Pick<Log, "addNow">, isStored: (entry: Submission) => Promise<boolean>, confirmMs = CONFIRM_MS) {
    this.#log = log;
    this.#isStored = isStored;
    this.#confirmMs = confirmMs;
  }

  /** Resolves when the entry is stored. @throws {ProcmanError} `log-unavailable` */
  add(entry: Submission): Promise<void> {
    const bytes = Buffer.byteLength(entry.text) + ENTRY_BYTES;
    if (this.#waitingBytes + bytes > WAITING_BYTES || this.#waiting.length >= WAITING_ENTRIES)
      return Promise.reject(
        new ProcmanError("log-unavailable", "Cannot take the entry: the logger is behind; send it again later"),
      );
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entry, bytes, resolve, reject });
      this.#waitingBytes += bytes;
      this.#sendNext();
    });
  }

  /** The logger has handled these entries. */
  onStored({ receipts, problem }: FromLogger & { readonly t: "stored" }): void {
    for (const receipt of receipts) {
      const pending = this.#remove(receipt);
      if (problem === undefined) pending?.resolve();
      else pending?.reject(new ProcmanError("log-unavailable", `Cannot store the entry: ${problem}`));
    }
    this.#sendNext();
  }

  #sendNext(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (this.#underWay.size > 0 && this.#underWayBytes + next.bytes > UNDER_WAY_BYTES) return;
      this.#waiting.shift();
      this.#waitingBytes -= next.bytes;
      this.#lastReceipt += 1;
      const receipt = this.#lastReceipt;
      this.#underWay.set(receipt, next);
      this.#underWayBytes += next.bytes;
      next.timer = setTimeout(() => void this.#check(receipt), this.#confirmMs);
      this.#log.addNow({ ...next.entry, receipt });
    }
  }

  async #check(receipt: number): Promise<void> {
    const pending = this.#remove(receipt);
    this.#sendNext();
    if (pending === undefined) return;
    // A store that can't be read doesn't show the entry.
    if (await this.#isStored(pending.entry).catch(() => false)) return pending.resolve();
    pending.reject(
      new ProcmanError("log-unavailable", "Cannot tell whether the entry was stored: the logger doesn't answer"),
    );
  }

  #remove(receipt: number): PendingSubmission | undefined {
    const pending = this.#underWay.get(receipt);
    if (pending === undefined) return undefined;
    clearTimeout(pending.timer);
    this.#underWay.delete(receipt);
    this.#underWayBytes -= pending.bytes;
    return pending;
  }
}
