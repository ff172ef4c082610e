/** What a process waits for: its dependencies before a start, its dependents before a stop, the other instances before a restart for its health. */
import type { StatusCause } from "../../contract/causes.ts";
import type { HealthHold } from "../../supervisor/siblings.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { isUnhealthy, isWaiting, waitsForDependents } from "../../supervisor/verdict.ts";

/** `waitsFor`: dependencies that are not met yet. `skip`: one of them has failed permanently. */
export type DependencyStatus = Pick<StatusCause, "waitsFor" | "skip"> & {
  /** Dependents that must end before it. */
  readonly dependents?: readonly string[];
  /** Why it is not restarted, though it is unhealthy. */
  readonly healthHold?: HealthHold;
};

type DependencySource = {
  readonly supervisor: Pick<Supervisor, "find" | "unmetBy" | "lossOf" | "runningDependents" | "healthHold">;
  /** How a process has failed permanently. */
  readonly failureOf: (id: string) => Pick<StatusCause, "end" | "next">;
};

/** Adds the status to `subject`; returns the same object if there is nothing to add. */
export function withDependencyStatus<T extends object>(
  subject: T,
  { supervisor, failureOf }: DependencySource,
  id: string,
): T & DependencyStatus {
  const { states } = supervisor.find(id);
  if (states.some(isWaiting)) {
    const { path, members: [process = ""] = [] } = supervisor.lossOf(id) ?? {};
    return {
      ...subject,
      waitsFor: supervisor.unmetBy(id).map(({ id: dependency, condition }) => ({ process: dependency, condition })),
      ...(path && { skip: { path, process, ...failureOf(process) } }),
    };
  }
  const healthHold = states.some(isUnhealthy) ? supervisor.healthHold(id) : undefined;
  if (healthHold !== undefined) return { ...subject, healthHold };
  return states.some(waitsForDependents) ? { ...subject, dependents: supervisor.runningDependents(id) } : subject;
}
