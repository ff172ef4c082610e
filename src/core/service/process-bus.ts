/** The bus of process events: each is published once, to all listeners. */
import type { ProcessSpec } from "../config/spec.ts";
import type { RequestRecord } from "../contract/causes.ts";
import type { TelemetryReport } from "../contract/records.ts";
import type { Sample } from "../metrics/sampler.ts";
import type { ProcessEvent } from "../supervisor/process-notice.ts";
import type { Transition } from "../supervisor/slot.ts";
import type { LogLine } from "./log-line.ts";

/** `line`: the lifecycle line; undefined: nothing worth a line. */
export type ReportedTransition = {
  readonly id: string;
  readonly spec: ProcessSpec;
  readonly transition: Transition;
  readonly line: LogLine | undefined;
};

/** An event that is not a transition. `request`: why the present run is ended, if it is. */
export type ReportedEvent = {
  readonly id: string;
  readonly event: ProcessEvent;
  readonly line: LogLine;
  readonly request: RequestRecord | undefined;
};

/** `at`: milliseconds since 1970. */
export type ReportedSamples = { readonly samples: ReadonlyMap<string, Sample>; readonly at: number };

export class ProcessBus {
  readonly transitions: Listeners<ReportedTransition>;
  readonly events: Listeners<ReportedEvent>;
  readonly samples: Listeners<ReportedSamples>;
  /** What processes report of themselves. */
  readonly reports: Listeners<TelemetryReport>;
  /** Ids of processes that were removed from the configuration and are over. */
  readonly removed: Listeners<string>;

  constructor(report: (problem: string) => void) {
    this.transitions = new Listeners("transitions", report);
    this.events = new Listeners("process events", report);
    this.samples = new Listeners("samples", report);
    this.reports = new Listeners("telemetry", report);
    this.removed = new Listeners("removals", report);
  }
}

/** A listener that throws is reported; it affects neither the sender nor the other listeners. */
export class Listeners<Item> {
  readonly #listeners = new Set<(item: Item) => void>();
  readonly #subject: string;
  readonly #report: (problem: string) => void;

  constructor(subject: string, report: (problem: string) => void) {
    this.#subject = subject;
    this.#report = report;
  }

  /** Returns the function that removes the listener. */
  listen(listener: (item: Item) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(item: Item): void {
    for (const listener of this.#listeners) {
      try {
        listener(item);
      } catch (error) {
        this.#report(
          `a listener to ${this.#subject} has failed: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }
}
