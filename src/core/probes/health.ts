/** Probes the health of a run at intervals. */
import type { HealthSpec } from "../contract/probe-spec.ts";
import { ask, type ProbeLimits } from "./probe.ts";

/** Probes are aligned to this step: waking up for each alone would cost more than the probes. Milliseconds. */
const STEP_MS = 200;

export type HealthOptions = Pick<ProbeLimits, "context"> & {
  readonly spec: HealthSpec;
  /** Why an answer doesn't count; undefined if it does. */
  readonly objection: () => string | undefined;
  /** Remaining start period, in which failures don't count until the first success. Milliseconds. */
  readonly startMs: number;
  /** In [0, 1): shifts the probes, so that not all processes are probed at the same time. */
  readonly phase: number;
};

/** Called for each result; `counts` says whether the failure threshold is reached. */
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
    const { spec, context } = this.#options;
    this.#cancel = ask(spec.probe, { timeoutMs: spec.timeoutMs, context }, (problem) =>
      this.#onResult(problem ?? this.#options.objection()),
    );
  }

  #onResult(problem: string | undefined): void {
    const { failures, intervalMs } = this.#options.spec;
    const now = performance.now();
    // Not after a failure: the interval between failures must not be shorter.
    const early = problem === undefined && !this.#wasWell ? this.#options.phase * intervalMs : 0;
    // Probes never overlap, and missed ones are not made up for.
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

/** Aligns the time; a shorter interval isn't aligned. */
function inStep(due: number, intervalMs: number): number {
  return intervalMs < 2 * STEP_MS ? due : Math.ceil(due / STEP_MS) * STEP_MS;
}
