/** Which restarts wait for others: who would follow the restart of a cluster is restarted after it, and only once. */
import type { ProcessSpec } from "../config/spec.ts";
import { isUnderWay } from "../supervisor/change.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

type Family = { readonly supervisor: Supervisor; readonly spec: (id: string) => ProcessSpec };

/** `rolls`: by the id of the cluster, or of the process that comes after one; each after those that it waits for. */
type Turns = { readonly rolls: ReadonlyMap<string, readonly Process[]>; readonly others: readonly Process[] };

export function turnsOf(family: Family, processes: readonly Process[]): Turns {
  const rolls = new Map<string, readonly Process[]>();
  const others: Process[] = [];
  for (const process of family.supervisor.inStartOrder(processes)) {
    const comesLater = runs(process) && followed(family, process).some((id) => rolls.has(id));
    const id = family.spec(process.id).cluster?.id ?? (comesLater ? process.id : undefined);
    if (id === undefined) others.push(process);
    else rolls.set(id, [...(rolls.get(id) ?? []), process]);
  }
  return { rolls, others };
}

/** What this cluster, or process, would be restarted after. */
export function followedBy(family: Family, cluster: string): readonly string[] {
  return family.supervisor.processes.filter(({ id }) => nameOf(family, id) === cluster).flatMap((process) => followed(family, process));
}

export function runs(process: Process | undefined): boolean {
  return process?.states.some(isUnderWay) === true;
}

/** Clusters and processes. */
function followed(family: Family, { plan }: Process): readonly string[] {
  const members = new Set((plan.dependsOn ?? []).flatMap((dependency) => (dependency.restart ? dependency.members : [])));
  if (members.size === 0) return [];
  return family.supervisor.processes.filter(({ id }) => members.has(id)).map(({ id }) => nameOf(family, id));
}

function nameOf(family: Family, id: string): string {
  return family.spec(id).cluster?.id ?? id;
}
