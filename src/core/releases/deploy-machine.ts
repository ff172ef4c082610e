/**
 * The steps of a deployment, and which one follows: a pure machine. What it says is written down before and after each
 * step (`deployment-runner.ts`), so that a deployment whose procman was killed goes on, or goes back.
 */
import type { DeployStep } from "../contract/deployment-record.ts";

/** Where a deployment is. `isBegun`: the step may have been carried out, in part. */
export type Progress = {
  /** Absent: it is over. */
  readonly step?: DeployStep;
  readonly isBegun: boolean;
  readonly result: "running" | "done" | "failed" | "taken-back";
  /** Why it goes back, or has failed. */
  readonly problem?: string;
};

const FORWARD = ["copy", "prepare", "before", "switch", "restart", "after", "gate", "promote", "clean"] as const;
const BACK = ["switch-back", "restart-back", "after-back"] as const;

/** Nothing of these is in use yet: the release is only removed. */
const BEFORE_SWITCH: readonly DeployStep[] = ["copy", "prepare", "before", "switch"];

/** `isNew`: the release is made now; false: it is there already. */
export function firstStep(isNew: boolean): Progress {
  return { step: isNew ? "copy" : "switch", isBegun: false, result: "running" };
}

export function begun(progress: Progress): Progress {
  return { ...progress, isBegun: true };
}

/** The step was carried out. */
export function stepDone(progress: Progress): Progress {
  const { step, problem } = progress;
  if (step === "discard") return over("failed", problem);
  if (step === "after-back") return over("taken-back", problem);
  if (step === "clean" || step === undefined) return over("done", problem);
  const steps: readonly DeployStep[] = problem === undefined ? FORWARD : BACK;
  const next = steps[steps.indexOf(step) + 1];
  return next === undefined ? progress : { ...progress, step: next, isBegun: false };
}

/** The step has failed. What fails on the way back is added to the problem; the way back goes on. */
export function stepFailed(progress: Progress, why: string, isNew: boolean): Progress {
  const { step, problem } = progress;
  // The release is in use: that old ones can't be removed doesn't change it.
  if (step === "clean" || step === undefined) return over("done", why);
  if (problem !== undefined) return stepDone({ ...progress, problem: `${problem}; on the way back: ${why}` });
  if (!BEFORE_SWITCH.includes(step)) return { ...progress, step: "switch-back", isBegun: false, problem: why };
  return isNew ? { ...progress, step: "discard", isBegun: false, problem: why } : over("failed", why);
}

/** In a new service. Each step may be repeated but for the commands that run once. */
export function resumed(progress: Progress, isNew: boolean): Progress {
  return progress.step === "before" && progress.isBegun
    ? stepFailed(progress, `procman was restarted during a command of "before", which runs once`, isNew)
    : { ...progress, isBegun: false };
}

function over(result: Progress["result"], problem: string | undefined): Progress {
  return { isBegun: false, result, ...(problem !== undefined && { problem }) };
}
