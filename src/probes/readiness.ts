/** Finds out when a run has become ready: asks again and again, or listens for what it says. */
import { statSync } from "node:fs";
import type { ReadyProbe } from "../contract/probe.ts";
import { ask, type Limits } from "./ask.ts";

/** Between two looks: at first, and after a while. Milliseconds. */
const SOON_MS = 10;
const LATER_MS: Readonly<Record<ReadyProbe["kind"], number>> = { port: 100, http: 200, exec: 1_000, fd: 50, log: 0 };
const GROWTH = 1.3;
/** Somebody else answers: who that is takes some milliseconds to find out. Milliseconds. */
const STRANGER_MS = 1_000;
/** What can be asked again has no need to wait for long. Milliseconds. */
const ANSWER_MS = 5_000;

export type ReadinessOptions = Limits & {
  readonly probe: ReadyProbe;
  /** Where the run finds its descriptor for `fd`. */
  readonly file: string;
  /** The lines of the run, from its first. */
  readonly lines: (signal: AbortSignal) => AsyncIterable<string>;
  /** Why an answer doesn't count. */
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
    if (options.probe.kind === "log") void this.#listen(new RegExp(options.probe.pattern));
    else this.#look();
  }

  stop(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
    this.#cancel?.();
  }

  #look(): void {
    const { probe, file, timeoutMs, scene } = this.#options;
    if (probe.kind === "log") return;
    if (probe.kind === "fd") return this.#heard(hasContent(file) ? undefined : `has not written to descriptor ${probe.fd}`);
    // A command may have a long way to go, and two of them at once would be no quicker.
    const patience = probe.kind === "exec" ? timeoutMs : Math.min(timeoutMs, ANSWER_MS);
    this.#cancel = ask(probe, { timeoutMs: patience, scene }, (problem) => this.#heard(problem));
  }

  #heard(problem: string | undefined): void {
    const objection = problem === undefined ? this.#options.objection() : undefined;
    const waits = problem ?? objection;
    if (waits === undefined) return this.#on.ready();
    this.#on.waits(waits);
    this.#timer = setTimeout(() => this.#look(), objection === undefined ? this.#pause : STRANGER_MS);
    this.#pause = Math.min(this.#pause * GROWTH, LATER_MS[this.#options.probe.kind]);
  }

  async #listen(pattern: RegExp): Promise<void> {
    const { signal } = this.#end;
    this.#on.waits(`no line of it matches ${pattern}`);
    try {
      for await (const line of this.#options.lines(signal)) if (pattern.test(line) && !signal.aborted) return this.#on.ready();
    } catch (error) {
      if (!signal.aborted) this.#on.waits(`its lines can't be read: ${(error as Error).message}`);
    }
  }
}

function hasContent(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}
