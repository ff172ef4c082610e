/** For any load, any policy and any fate of instances, the controller keeps its promises; `PROCMAN_FUZZ_SECONDS` tries longer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NO_SAMPLES, type ScaleDecision, type ScalePolicy, type ScaleSample, scaleStep } from "./scale-controller.ts";

const SECONDS = Number(process.env.PROCMAN_FUZZ_SECONDS ?? 0);
const effort =
  SECONDS > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: SECONDS * 1_000 } : { numRuns: 200 };

const policies: fc.Arbitrary<ScalePolicy> = fc
  .record({
    min: fc.integer({ min: 1, max: 5 }),
    more: fc.integer({ min: 0, max: 20 }),
    limits: fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 3 }),
    upAfterMs: fc.integer({ min: 0, max: 30 }).map((seconds) => seconds * 1_000),
    downAfterMs: fc.integer({ min: 0, max: 60 }).map((seconds) => seconds * 1_000),
    step: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  })
  .map(({ min, more, limits, step, ...times }) => ({
    ...times,
    min,
    max: min + more,
    targets: limits.map((limit, index) => ({ name: `metric:${index}`, limit })),
    ...(step !== undefined && { step }),
  }));

type Moment = Pick<ScaleSample, "failing" | "memory"> & {
  readonly seconds: number;
  readonly loads: readonly (number | undefined)[];
  readonly down: number;
};

const moments: fc.Arbitrary<readonly Moment[]> = fc.array(
  fc.record(
    {
      seconds: fc.integer({ min: 1, max: 40 }),
      loads: fc.array(fc.option(fc.integer({ min: 0, max: 2_000 }), { nil: undefined }), {
        minLength: 3,
        maxLength: 3,
      }),
      down: fc.integer({ min: 0, max: 2 }),
      failing: fc.constantFrom("web-1"),
      memory: fc.record({
        freeBytes: fc.integer({ min: 0, max: 1_000 }),
        instanceBytes: fc.integer({ min: 1, max: 300 }),
      }),
    },
    { requiredKeys: ["seconds", "loads", "down"] },
  ),
  { minLength: 1, maxLength: 20 },
);

type Decided = { readonly sample: ScaleSample; readonly decision: ScaleDecision };

/** The decisions, each carried out. */
function decisionsOf(policy: ScalePolicy, story: readonly Moment[]): readonly Decided[] {
  const found: Decided[] = [];
  let state = NO_SAMPLES;
  let instances = policy.min;
  let at = 0;
  for (const { seconds, loads, down, ...more } of story)
    for (const end = at + seconds * 1_000; at < end; at += 1_000) {
      const known = loads.flatMap((load, index) => (load === undefined ? [] : [[`metric:${index}`, load] as const]));
      const sample = { at, instances, serving: Math.max(0, instances - down), loads: new Map(known), ...more };
      const outcome = scaleStep(state, sample, policy);
      assert.ok(outcome.desired >= policy.min && outcome.desired <= policy.max, `desired ${outcome.desired}`);
      assert.ok(outcome.decision === undefined || outcome.refusal === undefined, "decided and refused");
      state = outcome.state;
      if (outcome.decision === undefined) continue;
      found.push({ sample, decision: outcome.decision });
      instances = outcome.decision.to;
    }
  return found;
}

function check(holds: (policy: ScalePolicy, decided: readonly Decided[]) => void): void {
  fc.assert(
    fc.property(policies, moments, (policy, story) => holds(policy, decisionsOf(policy, story))),
    effort,
  );
}

test("each decision changes the number, within the bounds and by at most one step", () => {
  check((policy, decided) => {
    for (const { decision } of decided) {
      const { from, to } = decision;
      assert.notEqual(from, to);
      assert.ok(to >= policy.min && to <= policy.max);
      assert.ok(Math.abs(to - from) <= (policy.step ?? 1_024));
    }
  });
});

test("two decisions in one direction are at least their time apart", () => {
  check((policy, decided) => {
    for (const [index, { sample, decision }] of decided.entries()) {
      const before = decided.slice(0, index).findLast((each) => isGrowth(each.decision) === isGrowth(decision));
      const time = isGrowth(decision) ? policy.upAfterMs : policy.downAfterMs;
      assert.ok(before === undefined || sample.at - before.sample.at >= time);
    }
  });
});

test("no cluster shrinks sooner than downAfter after it has grown", () => {
  check((policy, decided) => {
    for (const [index, { sample, decision }] of decided.entries()) {
      const before = decided[index - 1];
      if (before === undefined || isGrowth(decision) || !isGrowth(before.decision)) continue;
      assert.ok(sample.at - before.sample.at >= policy.downAfterMs);
    }
  });
});

test("no cluster grows while an instance fails, or beyond its memory; none shrinks while a load is unknown", () => {
  check((policy, decided) => {
    for (const { sample, decision } of decided) {
      const { memory, instances, serving, loads } = sample;
      if (!isGrowth(decision)) {
        assert.equal(loads.size >= policy.targets.length, true);
        continue;
      }
      assert.equal(sample.failing, undefined);
      if (memory !== undefined)
        assert.ok((decision.to - serving) * memory.instanceBytes <= memory.freeBytes, `${decision.to} of ${instances}`);
    }
  });
});

test("under a load that stays, decisions end, and the cluster is right for it", () => {
  fc.assert(
    fc.property(
      policies,
      fc.integer({ min: 0, max: 2_000 }),
      fc.integer({ min: 1, max: 25 }),
      (policy, load, first) => {
        const instances = Math.min(policy.max, Math.max(policy.min, first));
        const steps = Math.ceil(25 / (policy.step ?? 25));
        const settled = (steps * Math.max(policy.upAfterMs, policy.downAfterMs)) / 1_000 + 2 * steps;
        let state = NO_SAMPLES;
        let count = instances;
        for (let second = 0; second < settled + 200; second++) {
          const loads = new Map(policy.targets.map(({ name }) => [name, load]));
          const outcome = scaleStep(state, { at: second * 1_000, instances: count, serving: count, loads }, policy);
          state = outcome.state;
          assert.ok(outcome.decision === undefined || second <= settled, `still deciding after ${second} s`);
          count = outcome.decision?.to ?? count;
        }
        const limit = Math.min(...policy.targets.map((target) => target.limit));
        const up = Math.ceil(load / limit);
        const down = Math.ceil(load / (limit * 0.8));
        assert.ok(
          count >= Math.min(policy.max, up) && count <= Math.max(policy.min, down),
          `${count} for ${up} to ${down}`,
        );
      },
    ),
    effort,
  );
});

function isGrowth({ from, to }: ScaleDecision): boolean {
  return to > from;
}
