/** Finds out when a run is ready: probes it repeatedly, or watches its output. */
import { statSync } from "node:fs";
import type { ReadyProbe } from "../contract/probe-spec.ts";
import { LimitedMatch } from "./limited-match.ts";
import { ask, type ProbeLimits } from "./probe.ts";

/** Interval of the probes at first, and after a while. Milliseconds. */
const SOON_MS = 10;
const LATER_MS: Readonly<Record<ReadyProbe["kind"], number>> = {
  port: 100,
  http: 200,
  exec: 1_000,
  fd: 50,
  message: 50,
  log: 0,
};
const GROWTH = 1.3;
/** Delay after another program answered: finding out which one takes some milliseconds. Milliseconds. */
const STRANGER_MS = 1_000;
/** Timeout of a probe that can be repeated cheaply. Milliseconds. */
const ANSWER_MS = 5_000;

export type ReadinessOptions = ProbeLimits & {
  readonly probe: ReadyProbe;
  /** The file to which the run writes for `fd` and `message`. */
  readonly file: string;
  /** The lines of the run's output from its beginning. */
  readonly lines: (signal: AbortSignal) => AsyncIterable<string>;
  /** Why an answer doesn't count; undefined if it does. */
  readonly objection: () => string | undefined;
};

export type ReadinessEvents = { readonly ready: () => void; readonly waits: (problem: string) => void };

export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #on: ReadinessEvents;
  readonly #end = new AbortController();
  #pause = SOON_MS;
  #timer: NodeJS.Timeout | undefined;
  #cancel: (() => void) | undefined;

  constructor(options: ReadinessOptions, on: ReadinessEvents) {
    this.#options = options;
    this.#on = on;
    if (options.probe.kind === "log") void this.#listen(options.probe.pattern);
    else this.#probe();
  }

  stop(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
    this.#cancel?.();
  }

  #probe(): void {
    const { probe, file, timeoutMs, context } = this.#options;
    if (probe.kind === "log") return;
    if (probe.kind === "fd")
      return this.#onResult(hasContent(file) ? undefined : `has not written to descriptor ${probe.fd}`);
    if (probe.kind === "message")
      return this.#onResult(hasContent(file) ? undefined : 'has not sent the message "ready"');
    // A command may take long, and running two at once would be no faster.
    const attemptMs = probe.kind === "exec" ? timeoutMs : Math.min(timeoutMs, ANSWER_MS);
    this.#cancel = ask(probe, { timeoutMs: attemptMs, context }, (problem) => this.#onResult(problem));
  }

  #onResult(problem: string | undefined): void {
    const objection = problem === undefined ? this.#options.objection() : undefined;
    const waits = problem ?? objection;
    if (waits === undefined) return this.#on.ready();
    this.#on.waits(waits);
    this.#timer = setTimeout(() => this.#probe(), objection === undefined ? this.#pause : STRANGER_MS);
    this.#pause = Math.min(this.#pause * GROWTH, LATER_MS[this.#options.probe.kind]);
  }

  async #listen(expression: string): Promise<void> {
    const { signal } = this.#end;
    const shown = new RegExp(expression);
    this.#on.waits(`no line of it matches ${shown}`);
    const pattern = new LimitedMatch(expression, (characters) =>
      this.#on.waits(
        `no line of it matches ${shown}, which takes too long for a line of ${characters} characters: that doesn't count; simplify it`,
      ),
    );
    try {
      for await (const line of this.#options.lines(signal)) {
        if (!(await pattern.test(line, signal)) || signal.aborted) continue;
        const objection = this.#options.objection();
        return objection === undefined ? this.#on.ready() : this.#on.waits(objection);
      }
    } catch (error) {
      if (!signal.aborted) this.#on.waits(`its lines can't be read: ${(error as Error).message}`);
    }
  }
}

/** A file that was removed can't tell any more: the run must not end for that. */
function hasContent(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.size !== 0;
}
