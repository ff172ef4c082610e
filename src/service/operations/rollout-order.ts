/** Which restarts come after others: what would follow the restart of a cluster is restarted after it, and only once. */
import type { ProcessSpec } from "../../config/spec.ts";
import { isUnderWay } from "../../supervisor/definition.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";

type Specified = { readonly supervisor: Supervisor; readonly spec: (id: string) => ProcessSpec };

/** By the id of the cluster, or of the process that is restarted after one. */
export type ClusterRestarts = ReadonlyMap<string, readonly Process[]>;

/** `clusters`: each after those that it waits for. `others` are restarted at once. */
export function rolloutOrder(
  service: Specified,
  processes: readonly Process[],
): { readonly clusters: ClusterRestarts; readonly others: readonly Process[] } {
  const clusters = new Map<string, readonly Process[]>();
  const others: Process[] = [];
  for (const process of service.supervisor.inStartOrder(processes)) {
    const comesLater = runs(process) && followedBy(service, process).some((id) => clusters.has(id));
    const id = service.spec(process.id).cluster?.id ?? (comesLater ? process.id : undefined);
    if (id === undefined) others.push(process);
    else clusters.set(id, [...(clusters.get(id) ?? []), process]);
  }
  return { clusters, others };
}

/** Clusters and processes whose restart this cluster, or process, would follow. */
export function followsOf(service: Specified, cluster: string): readonly string[] {
  return service.supervisor.processes
    .filter(({ id }) => nameOf(service, id) === cluster)
    .flatMap((process) => followedBy(service, process));
}

export function runs(process: Process | undefined): boolean {
  return process?.states.some(isUnderWay) === true;
}

function followedBy(service: Specified, { plan }: Process): readonly string[] {
  const members = new Set((plan.dependsOn ?? []).flatMap((dependency) => (dependency.restart ? dependency.members : [])));
  if (members.size === 0) return [];
  return service.supervisor.processes.filter(({ id }) => members.has(id)).map(({ id }) => nameOf(service, id));
}

function nameOf(service: Specified, id: string): string {
  return service.spec(id).cluster?.id ?? id;
}
