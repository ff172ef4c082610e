/** What the health of the other instances of a cluster means for an unhealthy one. */
import type { Process } from "./process.ts";
import type { SlotState } from "./states.ts";

/**
 * Why an unhealthy instance is not restarted; undefined: it may be. A restart helps only where the cause is in the instance: while no
 * other one is healthy, the cause is elsewhere. And the others serve meanwhile, so they are restarted one at a time.
 */
export function healthHold(others: readonly Process[]): string | undefined {
  const active = others.filter(({ isIdle }) => !isIdle);
  if (active.length === 0) return undefined;
  if (!active.some(isHealthy)) return "no other instance is healthy";
  const coming = active.find(({ states }) => states.some(isComing));
  return coming === undefined ? undefined : `${coming.id} is being restarted`;
}

/** Whether an unhealthy instance still gets connections: as all others are unhealthy, too. */
export function isAllUnhealthy(others: readonly Process[]): boolean {
  return others.some(({ isIdle }) => !isIdle) && !others.some(isHealthy);
}

/** It is in a back-off that began because it was not healthy or not ready. */
export function isOutForHealth(state: SlotState): boolean {
  return state.status === "backoff" && (state.fault === "unhealthy" || state.fault === "unready");
}

function isHealthy({ states }: Process): boolean {
  return states.some((state) => state.status === "running" && state.ready && state.healthy === true);
}

/** It is being restarted for its health, or its new run has not passed a check yet. */
function isComing(state: SlotState): boolean {
  if (state.status === "stopping") return state.cause === "unhealthy";
  return state.status === "starting" || (state.status === "running" && (!state.ready || state.healthy === undefined));
}
