/** The order of restarts: a process that depends on a cluster with `restart: true` is restarted after it, and only once. */
import type { Process } from "../../supervisor/process.ts";
import { isUnderWay } from "../../supervisor/verdict.ts";
import type { OperationContext } from "./operation-context.ts";

type OrderContext = Pick<OperationContext, "specs" | "supervisor">;

/** By id of the cluster, or of the process that is restarted after a cluster. */
export type ClusterRestarts = ReadonlyMap<string, readonly Process[]>;

/** `clusters`: in order, each after its dependencies. `others` are restarted at once. */
export function rolloutOrder(
  service: OrderContext,
  processes: readonly Process[],
): { readonly clusters: ClusterRestarts; readonly others: readonly Process[] } {
  const clusters = new Map<string, readonly Process[]>();
  const others: Process[] = [];
  for (const process of service.supervisor.inStartOrder(processes)) {
    const isRestartedLater =
      isProcessUnderWay(process) && restartedDependencies(service, process).some((id) => clusters.has(id));
    const id = service.specs.of(process.id).cluster?.id ?? (isRestartedLater ? process.id : undefined);
    if (id === undefined) others.push(process);
    else clusters.set(id, [...(clusters.get(id) ?? []), process]);
  }
  return { clusters, others };
}

/** Ids of clusters and processes that this unit (a cluster or process) is restarted after. */
export function precedingRestarts(service: OrderContext, unit: string): readonly string[] {
  return service.supervisor.processes
    .filter(({ id }) => restartUnit(service, id) === unit)
    .flatMap((process) => restartedDependencies(service, process));
}

export function isProcessUnderWay(process: Process | undefined): boolean {
  return process?.states.some(isUnderWay) === true;
}

function restartedDependencies(service: OrderContext, { definition }: Process): readonly string[] {
  const members = new Set(
    (definition.dependsOn ?? []).flatMap((dependency) => (dependency.restart ? dependency.members : [])),
  );
  if (members.size === 0) return [];
  return service.supervisor.processes.filter(({ id }) => members.has(id)).map(({ id }) => restartUnit(service, id));
}

function restartUnit(service: OrderContext, id: string): string {
  return service.specs.of(id).cluster?.id ?? id;
}
