/** Reports a fault for runs that exceed their memory limit in several samples in a row. */
import type { ProcessSpec } from "../../config/spec.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ProcessBus } from "../process-bus.ts";
import type { Subsystem } from "../subsystem.ts";

/** One sample may be a short peak. */
const SAMPLES_OVER_LIMIT = 3;

type Samples = ReadonlyMap<string, { readonly memoryBytes: number; readonly residentBytes?: number }>;

export type MemoryLimitPorts = {
  readonly bus: ProcessBus;
  readonly processes: () => readonly Process[];
  readonly spec: (slot: string) => ProcessSpec;
  readonly setProblem: (id: string, problem: string) => void;
};

export class MemoryLimitWatch implements Subsystem {
  readonly #ports: MemoryLimitPorts;
  readonly #over = new Map<string, number>();
  readonly #stop: () => void;

  constructor(ports: MemoryLimitPorts) {
    this.#ports = ports;
    this.#stop = ports.bus.samples.listen(({ samples }) => this.check(samples));
  }

  retire(): void {
    this.#stop();
  }

  check(samples: Samples): void {
    for (const process of this.#ports.processes()) {
      const { id } = process;
      const limit = limitOf(this.#ports.spec(id)) ?? Number.POSITIVE_INFINITY;
      const { memoryBytes, residentBytes } = samples.get(id) ?? { memoryBytes: 0 };
      const samplesOver = memoryBytes > limit ? (this.#over.get(id) ?? 0) + 1 : 0;
      if (samplesOver === 0) this.#over.delete(id);
      else this.#over.set(id, samplesOver);
      if (samplesOver < SAMPLES_OVER_LIMIT) continue;
      this.#over.delete(id);
      this.#ports.setProblem(id, excess(limit, memoryBytes, residentBytes));
      for (const { slot, run } of process.runs) process.report(slot, { type: "fault", run, fault: "memory" });
    }
  }
}

/** `memoryMax` is watched too, as there may be no cgroup to enforce it. */
export function limitOf({
  memoryLimit,
  memoryMax,
}: Pick<ProcessSpec, "memoryLimit" | "memoryMax">): number | undefined {
  return memoryLimit ?? memoryMax;
}

/** Both figures: other programs show RSS, which counts shared memory too. */
export function excess(limit: number, memoryBytes: number, residentBytes: number | undefined): string {
  const found = `${megabytes(memoryBytes)} MB, more than its ${megabytes(limit)} MB`;
  return residentBytes === undefined ? found : `${found}; RSS: ${megabytes(residentBytes)} MB`;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10;
}
