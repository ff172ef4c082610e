/** The instances of one process of the file: itself, or those of its cluster. */
import type { Names } from "./checks/command-checks.ts";

export type ClusterInstance = Names & { readonly index?: number };

type Clustered = {
  readonly id?: string | undefined;
  readonly cluster?: { readonly instances?: number | "max" | undefined } | undefined;
};

/** Names of all instances; one without `index` for a process without cluster. */
export function instances(process: Clustered, name: string, parallelism: number): readonly ClusterInstance[] {
  const id = process.id ?? "";
  if (process.cluster === undefined) return [{ name, id, process: id, instance: "" }];
  return Array.from({ length: count(process, parallelism) }, (_, index) => ({
    name,
    id: `${id}-${index + 1}`,
    process: id,
    instance: String(index + 1),
    index,
  }));
}

/** Number of instances: 1 without a cluster, one for each processor for "max". */
export function count(process: Clustered, parallelism: number): number {
  const wanted = process.cluster?.instances ?? 1;
  return wanted === "max" ? parallelism : wanted;
}

/** Whether clients reach it by a port that it shares with others: a run of it that has ended serves nobody, however it has ended. */
export function hasCommonPort({ front, share }: { readonly front?: object; readonly share?: object }): boolean {
  return front !== undefined || share !== undefined;
}
