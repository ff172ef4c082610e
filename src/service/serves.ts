/** Whether an instance serves, and waiting until one that was started anew does. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessSpec } from "../config/spec.ts";
import { isUnderWay } from "../supervisor/change.ts";
import type { Process } from "../supervisor/process.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { isUp } from "./settling.ts";

/** Beside the times that its former run may take to end, and it to become ready, an instance may take so long to serve. Milliseconds. */
const COME_UP_MS = 60_000;
const LOOK_MS = 10;

/** Whose instances these are. */
export type Serving = {
  readonly supervisor: Supervisor;
  readonly spec: (id: string) => ProcessSpec;
  /** Whether the load balancer sends it connections. */
  readonly balancing: {
    readonly accepts: (id: string) => boolean;
    /** Why it doesn't, if that is known. */
    readonly flawOf: (id: string) => string | undefined;
  };
};

/** `steadyMs`: one that shows in no other way that it is up has to run for so long. */
type Patience = { readonly steadyMs: number; readonly signal: AbortSignal };

/** Resolves with whether it is up and, where there is a load balancer, gets connections. */
export async function serves(serving: Serving, id: string, { steadyMs, signal }: Patience): Promise<boolean> {
  const { supervisor, balancing } = serving;
  const process = supervisor.processes.find((each) => each.id === id);
  if (process === undefined) return true;
  const { policy, front } = serving.spec(id);
  const { graceMs, terminateMs, readyMs } = policy;
  const limitMs = graceMs + terminateMs + (readyMs ?? 0) + COME_UP_MS;
  const steady = readyMs === undefined && front === undefined ? steadyMs : 0;
  if (!(await isUp(supervisor, id, { limitMs, signal, steadyMs: steady }))) return false;
  const late = performance.now() + COME_UP_MS;
  while (front !== undefined && !balancing.accepts(id) && !signal.aborted) {
    await sleep(LOOK_MS);
    // It may fail on its way.
    if (performance.now() > late || !(await isUp(supervisor, id, { limitMs: late - performance.now(), signal, steadyMs: 0 }))) return false;
    if (!process.states.some(isUnderWay)) return true;
  }
  return true;
}

export function isThere({ states: [state] }: Process): boolean {
  return state?.status === "starting" || state?.status === "running";
}

/** It has come up, as far as can be seen. */
export function isSteady({ states: [state] }: Process): boolean {
  return state?.status === "running" && state.ready && state.restarts === 0;
}
