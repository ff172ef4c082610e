/** What happens to processes: told once, to all who listen. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { Sample } from "../../metrics/sampler.ts";
import type { ProcessEvent } from "../../supervisor/process-notice.ts";
import type { Transition } from "../../supervisor/slot.ts";
import type { LogLine } from "./lifecycle-messages.ts";

/** `line`: what is said about it; undefined: nothing that a reader needs to know. */
export type ReportedTransition = {
  readonly id: string;
  readonly spec: ProcessSpec;
  readonly transition: Transition;
  readonly line: LogLine | undefined;
};

/** What is no transition. `endReason`: why the run ends that is under way, if it does. */
export type ReportedNotice = {
  readonly id: string;
  readonly notice: ProcessEvent;
  readonly line: LogLine;
  readonly endReason: string | undefined;
};

/** `at`: milliseconds since 1970. */
export type ReportedSamples = { readonly samples: ReadonlyMap<string, Sample>; readonly at: number };

export class ProcessBus {
  readonly transitions: Listeners<ReportedTransition>;
  readonly notices: Listeners<ReportedNotice>;
  readonly samples: Listeners<ReportedSamples>;
  /** Ids of processes that no configuration has any more. */
  readonly removed: Listeners<string>;

  constructor(report: (problem: string) => void) {
    this.transitions = new Listeners("transitions", report);
    this.notices = new Listeners("notices", report);
    this.samples = new Listeners("samples", report);
    this.removed = new Listeners("removals", report);
  }
}

/** One that throws is reported, and hinders neither the sender nor the others. */
export class Listeners<Item> {
  readonly #listeners = new Set<(item: Item) => void>();
  readonly #subject: string;
  readonly #report: (problem: string) => void;

  constructor(subject: string, report: (problem: string) => void) {
    this.#subject = subject;
    this.#report = report;
  }

  /** Gives the way to end it. */
  listen(listener: (item: Item) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(item: Item): void {
    for (const listener of this.#listeners) {
      try {
        listener(item);
      } catch (error) {
        this.#report(`a listener to ${this.#subject} has failed: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}
