/** Asks a run at intervals whether it is well. */
import type { HealthSpec } from "../contract/probe.ts";
import { ask, type Limits } from "./ask.ts";

/** Questions of all processes come together a few times a second: to wake up for each alone would cost more than to ask. Milliseconds. */
const STEP_MS = 200;

export type HealthOptions = Pick<Limits, "scene"> & {
  readonly spec: HealthSpec;
  /** So much of its start period is left: until it was well once, failures don't count. Milliseconds. */
  readonly startMs: number;
  /** In [0, 1): not all that are well are asked in step. */
  readonly phase: number;
};

/** Each answer is told: of an `ill` one `counts` says whether it was one too many. */
export type HealthEvents = { readonly well: () => void; readonly ill: (problem: string, counts: boolean) => void };

export class Health {
  readonly #options: HealthOptions;
  readonly #on: HealthEvents;
  readonly #startEnds: number;
  #failures = 0;
  #wasWell = false;
  #due = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: HealthOptions, on: HealthEvents) {
    this.#options = options;
    this.#on = on;
    this.#startEnds = this.#due + options.startMs;
    this.#ask();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#cancel?.();
  }

  #ask(): void {
    const { spec, scene } = this.#options;
    this.#cancel = ask(spec.probe, { timeoutMs: spec.timeoutMs, scene }, (problem) => this.#heard(problem));
  }

  #heard(problem: string | undefined): void {
    const { failures, intervalMs } = this.#options.spec;
    const now = performance.now();
    // From a failure to the next it is never less: a moment would count twice.
    const early = problem === undefined && !this.#wasWell ? this.#options.phase * intervalMs : 0;
    // Never two at once, and what was missed isn't made up for.
    this.#due = Math.max(now, this.#due + intervalMs - early);
    this.#timer = setTimeout(() => this.#ask(), inStep(this.#due, intervalMs) - now);
    if (problem === undefined) {
      this.#failures = 0;
      this.#wasWell = true;
      return this.#on.well();
    }
    const isStarting = !this.#wasWell && now < this.#startEnds;
    if (!isStarting) this.#failures += 1;
    this.#on.ill(problem, this.#failures >= failures);
  }
}

/** Who is asked more often than that needs no company. */
function inStep(due: number, intervalMs: number): number {
  return intervalMs < 2 * STEP_MS ? due : Math.ceil(due / STEP_MS) * STEP_MS;
}
