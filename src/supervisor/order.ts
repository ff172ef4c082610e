/** The order in which processes are started. */
import type { Dependency } from "./plan.ts";

type Find = (id: string) => { readonly dependsOn?: readonly Dependency[] | undefined } | undefined;

/** Whoever depends on others after those, also by way of some that are not among them; otherwise they stay in their order. */
export function inStartOrder<T extends { readonly id: string }>(processes: readonly T[], find: Find): readonly T[] {
  const wanted = new Map(processes.map((process) => [process.id, process]));
  const ordered: T[] = [];
  const seen = new Set<string>();
  const visit = (id: string): void => {
    if (seen.has(id)) return;
    seen.add(id);
    for (const { members } of find(id)?.dependsOn ?? []) for (const member of members) visit(member);
    const process = wanted.get(id);
    if (process !== undefined) ordered.push(process);
  };
  for (const id of wanted.keys()) visit(id);
  return ordered;
}
