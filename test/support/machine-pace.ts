/** Limits of time that hold on a busy machine, too. */
import assert from "node:assert/strict";

/** CPU time for which the pace is measured. Milliseconds. */
const MEASURED_MS = 200;

/** How many times as long as on a quiet machine a computation takes now: elapsed time by CPU time, at least 1. */
function slowdown(): number {
  const [began, used] = [performance.now(), process.cpuUsage()];
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage(used);
    return (user + system) / 1_000;
  };
  while (cpuMs() < MEASURED_MS);
  return Math.max(1, (performance.now() - began) / cpuMs());
}

/** Fails if `tookMs` is more than the limit. On a machine that has other work, the limit is longer by the factor that this work costs. */
export function assertWithin(limitMs: number, tookMs: number, what: string): void {
  if (tookMs < limitMs) return;
  const factor = slowdown();
  const limit = `${limitMs} ms${factor > 1.1 ? ` on a quiet machine; this one is ${factor.toFixed(1)} times as slow` : ""}`;
  assert.ok(tookMs < limitMs * factor, `${what} took ${Math.round(tookMs)} ms, more than ${limit}`);
}
