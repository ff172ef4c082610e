/** What is known of each process beside its state: put together once for all who ask, until something is new. */
import type { TelemetryReport } from "../contract/records.ts";
import type { Sample } from "../telemetry/sampler.ts";
import { type Seen, seenOf } from "./records.ts";

type Parts = { readonly report?: TelemetryReport; readonly trouble?: string | undefined };

const NOTHING: Seen = { usage: {}, said: {} };

export class Sightings {
  readonly #sampleOf: (id: string) => Sample | undefined;
  readonly #parts = new Map<string, Parts>();
  readonly #seen = new Map<string, Seen>();

  constructor(sampleOf: (id: string) => Sample | undefined) {
    this.#sampleOf = sampleOf;
  }

  of(id: string): Seen {
    return this.#seen.get(id) ?? NOTHING;
  }

  /** What it says of itself. */
  report(id: string, report: TelemetryReport): void {
    this.#put(id, { ...this.#parts.get(id), report });
  }

  /** What is wrong with its run; undefined: nothing any more. */
  trouble(id: string, trouble: string | undefined): void {
    const parts = this.#parts.get(id);
    if (parts?.trouble !== trouble) this.#put(id, { ...parts, trouble });
  }

  /** There are new samples, of these among others. */
  refresh(sampled: Iterable<string>): void {
    for (const id of new Set([...sampled, ...this.#seen.keys()])) this.#see(id);
  }

  forget(id: string): void {
    this.#parts.delete(id);
    this.#seen.delete(id);
  }

  #put(id: string, parts: Parts): void {
    this.#parts.set(id, parts);
    this.#see(id);
  }

  #see(id: string): void {
    const [sample, { report, trouble } = {}] = [this.#sampleOf(id), this.#parts.get(id)];
    this.#seen.set(id, { ...seenOf(sample, report), trouble });
  }
}
