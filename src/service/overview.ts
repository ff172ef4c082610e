/** The records of all processes, made once for all who ask at the same time. */
import type { ProcessRecord } from "../contract/records.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

/** What no transition tells, as the next run, is at most so old. Milliseconds. */
const FRESH_MS = 100;

export class Overview {
  readonly #make: () => readonly ProcessRecord[];
  #records: readonly ProcessRecord[] | undefined;
  #until = 0;

  constructor(supervisor: Supervisor, make: () => readonly ProcessRecord[]) {
    this.#make = make;
    supervisor.watch(() => this.forget());
  }

  /** The same array until something has changed. */
  get records(): readonly ProcessRecord[] {
    const now = performance.now();
    if (this.#records === undefined || now >= this.#until) {
      this.#records = this.#make();
      this.#until = now + FRESH_MS;
    }
    return this.#records;
  }

  /** Something has changed. */
  forget(): void {
    this.#records = undefined;
  }
}
