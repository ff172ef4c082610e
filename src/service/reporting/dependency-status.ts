/** How a process stands to those that it depends on, and that depend on it: in words. */
import type { Dependency } from "../../supervisor/definition.ts";
import type { InstanceState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";

export type DependencyStatus = {
  /** What must be the case before it starts: `db (ready)`. */
  readonly waitsFor?: string;
  /** Who is on the way down, and ends before it: `web, mail`. */
  readonly holding?: string;
};

/** The same object where there is nothing to add. */
export function withDependencyStatus<T extends object>(
  subject: T,
  supervisor: Pick<Supervisor, "find" | "unmetBy" | "holding">,
  id: string,
): T & DependencyStatus {
  const { states } = supervisor.find(id);
  if (states.some(({ status }) => status === "waiting"))
    return { ...subject, waitsFor: supervisor.unmetBy(id).map(dependencyText).join(", ") };
  return states.some(waitsForDependents) ? { ...subject, holding: supervisor.holding(id).join(", ") } : subject;
}

function dependencyText({ id, condition }: Dependency): string {
  return `${id} (${condition})`;
}

function waitsForDependents(state: InstanceState): boolean {
  return state.status === "stopping" && state.phase === "waiting-dependents";
}
