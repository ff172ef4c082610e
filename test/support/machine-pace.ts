/** Limits of time that hold on a slow or busy machine, too. */
import assert from "node:assert/strict";

/** What the computation below takes on the quiet machine that the limits are for: a virtual one of 2026. Milliseconds. */
const REFERENCE_MS = 165;

/** How many times as long as there a computation takes here and now; at least 1. */
function slowdown(): number {
  const began = performance.now();
  let value = 1;
  for (let step = 0; step < 12_000_000; step++) value = (value * 48_271) % 2_147_483_647;
  assert.ok(value > 0);
  return Math.max(1, (performance.now() - began) / REFERENCE_MS);
}

/** Fails if `tookMs` is more than the limit. On a slower machine, or one that has other work, the limit is longer by the factor that a computation takes longer. */
export function assertWithin(limitMs: number, tookMs: number, what: string): void {
  if (tookMs < limitMs) return;
  const factor = slowdown();
  const limit = `${limitMs} ms${factor > 1.1 ? ` on the machine it is for; this one is ${factor.toFixed(1)} times as slow` : ""}`;
  assert.ok(tookMs < limitMs * factor, `${what} took ${Math.round(tookMs)} ms, more than ${limit}`);
}
