/** What a process waits for: its dependencies before a start, its dependents before a stop. */
import type { Dependency } from "../../supervisor/definition.ts";
import type { SlotState } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";

export type DependencyStatus = {
  /** Dependencies that are not met yet: `db (ready)`. */
  readonly waitsFor?: string;
  /** One of them has failed for good. */
  readonly isSkipped?: true;
  /** Dependents that must end before it: `web, mail`. */
  readonly holding?: string;
};

/** Adds the status to `subject`; returns the same object if there is nothing to add. */
export function withDependencyStatus<T extends object>(
  subject: T,
  supervisor: Pick<Supervisor, "find" | "unmetBy" | "isSkipped" | "runningDependents">,
  id: string,
): T & DependencyStatus {
  const { states } = supervisor.find(id);
  if (states.some(({ status }) => status === "waiting"))
    return {
      ...subject,
      waitsFor: supervisor.unmetBy(id).map(dependencyText).join(", "),
      ...(supervisor.isSkipped(id) ? { isSkipped: true } : {}),
    };
  return states.some(waitsForDependents) ? { ...subject, holding: supervisor.runningDependents(id).join(", ") } : subject;
}

function dependencyText({ id, condition }: Dependency): string {
  return `${id} (${condition})`;
}

function waitsForDependents(state: SlotState): boolean {
  return state.status === "stopping" && state.phase === "waiting-dependents";
}
