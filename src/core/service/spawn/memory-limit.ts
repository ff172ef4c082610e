/** Reports a fault for runs that exceed their memory limit in several samples in a row. */

import type { Sample } from "../../metrics/sampler.ts";
import { memoryLimitOf } from "../reporting/process-records.ts";
import type { ProcessStatsCache } from "../reporting/process-stats-cache.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";

/** One sample may be a short peak. */
const SAMPLES_OVER_LIMIT = 3;
const NO_USAGE: Pick<Sample, "memoryBytes" | "residentBytes" | "leaders"> = { memoryBytes: 0, leaders: [] };

export class MemoryLimitWatch implements Subsystem {
  readonly #services: Pick<Services, "specs" | "supervisor">;
  readonly #stats: Pick<ProcessStatsCache, "setProblem">;
  /** Samples in a row over the limit, of the runs with these leaders. */
  readonly #over = new Map<string, Pick<Sample, "leaders"> & { readonly count: number }>();
  readonly #stop: () => void;

  constructor(services: Pick<Services, "bus" | "specs" | "supervisor">, stats: Pick<ProcessStatsCache, "setProblem">) {
    this.#services = services;
    this.#stats = stats;
    this.#stop = services.bus.samples.listen(({ samples }) => this.#check(samples));
  }

  retire(): void {
    this.#stop();
  }

  #check(samples: ReadonlyMap<string, Sample>): void {
    const { specs, supervisor } = this.#services;
    for (const process of supervisor.processes) {
      const { id } = process;
      const limit = memoryLimitOf(specs.of(id)) ?? Number.POSITIVE_INFINITY;
      const { memoryBytes, residentBytes, leaders } = samples.get(id) ?? NO_USAGE;
      const before = this.#over.get(id);
      this.#over.delete(id);
      if (memoryBytes <= limit) continue;
      const count = before?.leaders.some((pid) => leaders.includes(pid)) ? before.count + 1 : 1;
      if (count < SAMPLES_OVER_LIMIT) {
        this.#over.set(id, { leaders, count });
        continue;
      }
      this.#stats.setProblem(id, excess(limit, memoryBytes, residentBytes));
      for (const { slot, run } of process.runs) process.report(slot, { type: "fault", run, fault: "memory" });
    }
  }
}

/** Both figures: other programs show RSS, which counts shared memory too. */
export function excess(limit: number, memoryBytes: number, residentBytes: number | undefined): string {
  const found = `${megabytes(memoryBytes)} MB, more than its ${megabytes(limit)} MB`;
  return residentBytes === undefined ? found : `${found}; RSS: ${megabytes(residentBytes)} MB`;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
