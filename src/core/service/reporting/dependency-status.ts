/** What a process waits for: its dependencies before a start, its dependents before a stop, the other instances before a restart for its health. */
import type { Dependency } from "../../supervisor/definition.ts";
import type { Obstacle } from "../../supervisor/dependencies.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { isUnhealthy, isWaiting, waitsForDependents } from "../../supervisor/verdict.ts";

export type DependencyStatus = {
  /** Dependencies that are not met yet: `db (ready)`. */
  readonly waitsFor?: string;
  /** One of them has failed for good. */
  readonly skip?: Skip;
  /** Dependents that must end before it: `web, mail`. */
  readonly holding?: string;
  /** Why it is not restarted, though it is unhealthy. */
  readonly healthHold?: string;
};

/** `path`: from its dependency to the one that has failed. */
export type Skip = { readonly path: readonly string[]; readonly text: string };

type DependencySource = {
  readonly supervisor: Pick<Supervisor, "find" | "unmetBy" | "lossOf" | "runningDependents" | "healthHold">;
  /** Status text of a process. */
  readonly reasonOf: (id: string) => string;
};

/** Adds the status to `subject`; returns the same object if there is nothing to add. */
export function withDependencyStatus<T extends object>(
  subject: T,
  { supervisor, reasonOf }: DependencySource,
  id: string,
): T & DependencyStatus {
  const { states } = supervisor.find(id);
  if (states.some(isWaiting)) {
    const loss = supervisor.lossOf(id);
    return {
      ...subject,
      waitsFor: supervisor.unmetBy(id).map(dependencyText).join(", "),
      ...(loss === undefined ? {} : { skip: { path: loss.path, text: skipText(loss, reasonOf) } }),
    };
  }
  const healthHold = states.some(isUnhealthy) ? supervisor.healthHold(id) : undefined;
  if (healthHold !== undefined) return { ...subject, healthHold };
  return states.some(waitsForDependents)
    ? { ...subject, holding: supervisor.runningDependents(id).join(", ") }
    : subject;
}

/** "skipped: it depends on api, which depends on db, which has failed for good: exited with code 3; its 5 restarts are used up" */
function skipText({ path, members: [failed = ""] }: Obstacle, reasonOf: (id: string) => string): string {
  const instance = path.at(-1) === failed ? "" : `${failed} `;
  return `skipped: it depends on ${path.join(", which depends on ")}, which has failed for good: ${instance}${reasonOf(failed)}`;
}

function dependencyText({ id, condition }: Dependency): string {
  return `${id} (${condition})`;
}
