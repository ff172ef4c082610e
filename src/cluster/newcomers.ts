/** Connections of a moment ago that last: which process has them was decided by who happened to wake first. */
import type { Placed } from "./moving.ts";

/** By then who asks again and again has done so a few times. Milliseconds. */
const PROVEN_MS = 25;

export class Newcomers {
  readonly #proven: () => void;
  #coming: Placed[] = [];
  #lasting: readonly Placed[] = [];
  #isOld = false;
  #timer: NodeJS.Timeout | undefined;

  /** `proven`: there are some. */
  constructor(proven: () => void) {
    this.#proven = proven;
  }

  /** In order of time. */
  get lasting(): readonly Placed[] {
    return this.#lasting;
  }

  add(placed: Placed): void {
    this.#coming.push(placed);
    this.#timer ??= setTimeout(() => this.#look(), PROVEN_MS);
  }

  /** From now on they are like all others. */
  take(): readonly Placed[] {
    const lasting = this.#lasting;
    this.#lasting = [];
    return lasting;
  }

  /** Called now and then. Whoever was there the last time has had its chance. */
  age(): void {
    if (this.#isOld) this.take();
    this.#isOld = this.#lasting.length > 0;
  }

  #look(): void {
    this.#timer = undefined;
    this.#lasting = [...this.#lasting, ...this.#coming.filter(({ pair }) => pair.isLasting)];
    this.#coming = [];
    if (this.#lasting.length > 0) this.#proven();
  }
}
