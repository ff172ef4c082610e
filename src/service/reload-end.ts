/** Waits for the end of a reload: until all that it restarts and starts is up, or why it is not. */
import { ProcmanError } from "../base/errors.ts";
import type { PlannedChange, PlanRecord } from "../contract/plan.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { aborted, isUp } from "./settling.ts";

/** A process that a reload starts is waited for no longer than this, whoever waits. Milliseconds. */
const LIMIT_MS = 3_600_000;

export type ReloadEnd = {
  readonly plan: PlanRecord;
  /** Resolves with why it came to nothing, if so. */
  readonly work: Promise<string | undefined>;
  readonly supervisor: Supervisor;
  readonly whyNotUp: (id: string) => string;
};

/** @throws {ProcmanError} `reload-failed`; `wait-timeout`, also when a signal comes */
export async function reloaded(end: ReloadEnd, waitSeconds: number, signals: readonly AbortSignal[]): Promise<PlanRecord> {
  const { plan, work } = end;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), waitSeconds * 1_000);
  const over = AbortSignal.any([late.signal, ...signals]);
  try {
    const settled = Promise.all([work, ...plan.processes.map((change) => settledChange(change, end, over))]);
    const result = await Promise.race([settled, aborted(over)]);
    if (result === undefined)
      throw new ProcmanError("wait-timeout", `Cannot wait any longer than ${waitSeconds} s for the reload; it goes on`);
    const [problem, ...processes] = result;
    if (problem !== undefined) throw new ProcmanError("reload-failed", problem);
    return { ...plan, processes };
  } finally {
    clearTimeout(timer);
    late.abort();
  }
}

async function settledChange(change: PlannedChange, { supervisor, whyNotUp }: ReloadEnd, signal: AbortSignal): Promise<PlannedChange> {
  if ((change.action !== "start" && change.action !== "restart") || change.rolling) return change;
  const up = await isUp(supervisor, change.process, { steadyMs: 0, limitMs: LIMIT_MS, signal });
  return up === false ? { ...change, problem: whyNotUp(change.process) } : change;
}
