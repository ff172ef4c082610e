/** Waits until a process that was started, or started anew, is up, or is not to be expected up. */
import type { Process } from "../supervisor/process.ts";
import type { Instance } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";

export type Patience = {
  /** A run that has lasted so long is taken for one that is up. Milliseconds. */
  readonly steadyMs: number;
  /** Milliseconds; what it depends on may take its own time beside that, as long as it is on its way. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
};

type Verdict = "up" | "down" | "open";

/** Resolves with whether it is up; when the signal came, with `undefined`. */
export function isUp(supervisor: Supervisor, id: string, { steadyMs, limitMs, signal }: Patience): Promise<boolean | undefined> {
  return new Promise((resolve) => {
    let steady: NodeJS.Timeout | undefined;
    let run: number | undefined;
    const done = (verdict: boolean | undefined): void => {
      drop();
      clearTimeout(steady);
      clearTimeout(limit);
      signal.removeEventListener("abort", abort);
      resolve(verdict);
    };
    /** This run is up if it lasts. */
    const expect = (seen: number | undefined): void => {
      if (seen === run) return;
      clearTimeout(steady);
      run = seen;
      if (run !== undefined) steady = setTimeout(() => done(true), steadyMs);
    };
    const look = (): void => {
      const process = supervisor.processes.find((each) => each.id === id);
      const verdict = verdictOn(process);
      const seen = verdict === "up" ? runOf(process) : undefined;
      // Nobody runs it any more: there is nothing to see of it.
      const isOver = seen === undefined || steadyMs === 0;
      if (verdict !== "open" && (verdict === "down" || isOver)) done(verdict === "up");
      else expect(seen);
    };
    const drop = supervisor.watch(look);
    const expired = (): void => {
      if (waitsForSome(supervisor, id)) limit.refresh();
      else done(false);
    };
    const limit = setTimeout(expired, limitMs);
    const abort = (): void => done(undefined);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    else look();
  });
}

/** It waits for others, and these are not over. */
function waitsForSome(supervisor: Supervisor, id: string): boolean {
  const stateOf = (each: string): Instance | undefined => supervisor.processes.find((process) => process.id === each)?.states[0];
  const isOnTheWay = (each: string): boolean => !["idle", "backoff", undefined].includes(stateOf(each)?.status);
  return stateOf(id)?.status === "waiting" && supervisor.unmetBy(id).every(({ members }) => members.some(isOnTheWay));
}

/** Resolves when the signal comes. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

/** Somebody may have stopped it meanwhile: that is no failure. */
function verdictOn(process: Process | undefined): Verdict {
  const state = process?.states[0];
  if (state === undefined) return "up";
  if (state.status === "idle") return state.outcome.kind === "failed" || state.outcome.kind === "exhausted" ? "down" : "up";
  // It was started with a count of 0: it has failed since.
  if (state.status === "backoff" || (state.restarts > 0 && state.status !== "stopping")) return "down";
  // It is being stopped for not being ready, or not being well.
  if (state.status === "stopping") return state.next === "policy" ? "down" : "open";
  return state.status === "running" && state.ready ? "up" : "open";
}

function runOf(process: Process | undefined): number | undefined {
  const state: Instance | undefined = process?.states[0];
  return state?.status === "running" ? state.run : undefined;
}
