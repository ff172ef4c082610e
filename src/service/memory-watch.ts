/** Gives up runs that have had more memory than they may for some looks in a row. */
import type { ProcessSpec } from "../config/spec.ts";
import type { Process } from "../supervisor/process.ts";

/** One look may fall on a peak that is over in a moment. */
const LOOKS = 3;

export type Samples = ReadonlyMap<string, { readonly memoryBytes: number }>;

export type Weighed = {
  readonly supervisor: { readonly processes: readonly Process[] };
  readonly spec: (slot: string) => ProcessSpec;
  readonly observatory: { readonly trouble: (id: string, problem: string) => void };
};

export class MemoryWatch {
  readonly #weighed: Weighed;
  readonly #over = new Map<string, number>();

  constructor(weighed: Weighed) {
    this.#weighed = weighed;
  }

  weigh(samples: Samples): void {
    for (const process of this.#weighed.supervisor.processes) {
      const { id } = process;
      const limit = limitOf(this.#weighed.spec(id)) ?? Number.POSITIVE_INFINITY;
      const memoryBytes = samples.get(id)?.memoryBytes ?? 0;
      const looks = memoryBytes > limit ? (this.#over.get(id) ?? 0) + 1 : 0;
      if (looks === 0) this.#over.delete(id);
      else this.#over.set(id, looks);
      if (looks < LOOKS) continue;
      this.#over.delete(id);
      this.#weighed.observatory.trouble(id, `${megabytes(memoryBytes)} MB, more than its ${megabytes(limit)} MB`);
      for (const { slot, run } of process.runs) process.tell(slot, { type: "fault", run, fault: "memory" });
    }
  }
}

/** What the kernel can't hold it to is watched as well. */
export function limitOf({ memoryLimit, memoryMax }: Pick<ProcessSpec, "memoryLimit" | "memoryMax">): number | undefined {
  return memoryLimit ?? memoryMax;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
