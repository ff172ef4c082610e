/** Carries a deployment out, step by step; each is written down before it begins, and after it. */
import { reasonOf } from "../base/errors.ts";
import type { DeployStep } from "../contract/deployment-record.ts";
import { failpoint } from "../os/failpoint.ts";
import { begun, type Progress, stepDone, stepFailed } from "./deploy-machine.ts";

export type DeploymentPorts = {
  /** Whether the release is made by it. */
  readonly isNew: boolean;
  /** Resolves once it is on the disk. */
  readonly write: (progress: Progress) => void;
  /** Each may be repeated. @throws Error with the problem */
  readonly deeds: Readonly<Record<DeployStep, () => Promise<void>>>;
  /** Aborted: another service goes on with it. */
  readonly signal: AbortSignal;
};

/** Resolves with how it is over; undefined: it isn't, another service goes on. @throws errors of `write` */
export async function carryOut(
  from: Progress,
  { isNew, write, deeds, signal }: DeploymentPorts,
): Promise<Progress | undefined> {
  let progress = from;
  for (let { step } = progress; step !== undefined; { step } = progress) {
    progress = begun(progress);
    write(progress);
    failpoint(`service.deploy-begun-${step}`);
    const problem = await outcome(deeds[step]);
    if (signal.aborted) return undefined;
    failpoint(`service.deploy-did-${step}`);
    progress = problem === undefined ? stepDone(progress) : stepFailed(progress, problem, isNew);
    write(progress);
  }
  return progress;
}

async function outcome(deed: () => Promise<void>): Promise<string | undefined> {
  try {
    await deed();
    return undefined;
  } catch (error) {
    const { path } = error as { readonly path?: unknown };
    return typeof path === "string" ? `${path}: ${reasonOf(error)}` : reasonOf(error);
  }
}
