/** What is known of each process beside its state: put together for who asks, once for all until something is new. */
import type { TelemetryReport } from "../contract/records.ts";
import type { Sample } from "../telemetry/sampler.ts";
import { type Seen, seenOf } from "./records.ts";

type Parts = { readonly report?: TelemetryReport; readonly trouble?: string | undefined };

/** What was put together of a sample. */
type Sighting = { readonly sample: Sample | undefined; readonly seen: Seen };

export class Sightings {
  readonly #sampleOf: (id: string) => Sample | undefined;
  readonly #parts = new Map<string, Parts>();
  readonly #sightings = new Map<string, Sighting>();

  constructor(sampleOf: (id: string) => Sample | undefined) {
    this.#sampleOf = sampleOf;
  }

  of(id: string): Seen {
    const sample = this.#sampleOf(id);
    const known = this.#sightings.get(id);
    return known !== undefined && known.sample === sample ? known.seen : this.#see(id, sample);
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

  forget(id: string): void {
    this.#parts.delete(id);
    this.#sightings.delete(id);
  }

  #put(id: string, parts: Parts): void {
    this.#parts.set(id, parts);
    this.#sightings.delete(id);
  }

  #see(id: string, sample: Sample | undefined): Seen {
    const { report, trouble } = this.#parts.get(id) ?? {};
    const seen = { ...seenOf(sample, report), trouble };
    this.#sightings.set(id, { sample, seen });
    return seen;
  }
}
