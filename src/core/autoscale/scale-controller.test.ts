import assert from "node:assert/strict";
import { test } from "node:test";
import { NO_SAMPLES, type ScaleOutcome, type ScalePolicy, type ScaleSample, scaleStep } from "./scale-controller.ts";

const POLICY: ScalePolicy = {
  min: 2,
  max: 8,
  targets: [{ name: "connections", limit: 40 }],
  upAfterMs: 10_000,
  downAfterMs: 300_000,
};

/** A cluster that does what the controller decides. */
class Rig {
  policy: ScalePolicy;
  instances: number;
  second = 0;
  decisions: string[] = [];
  #state = NO_SAMPLES;
  #outcome: ScaleOutcome | undefined;

  constructor(policy: Partial<ScalePolicy> = {}, instances = 2) {
    this.policy = { ...POLICY, ...policy };
    this.instances = instances;
  }

  /** Samples of so many seconds; `connections`: of the whole cluster. */
  run(seconds: number, connections: number | undefined, more: Partial<ScaleSample> = {}): this {
    const loads = new Map(connections === undefined ? [] : [["connections", connections]]);
    for (const end = this.second + seconds; this.second < end; this.second++) {
      const sample = { at: this.second * 1_000, instances: this.instances, serving: this.instances, loads, ...more };
      this.#outcome = scaleStep(this.#state, sample, this.policy);
      this.#state = this.#outcome.state;
      const { decision } = this.#outcome;
      if (decision === undefined) continue;
      this.decisions.push(`${this.second}: ${decision.from} -> ${decision.to}`);
      this.instances = decision.to;
    }
    return this;
  }

  get outcome(): ScaleOutcome {
    assert.ok(this.#outcome, "no sample yet");
    return this.#outcome;
  }
}

test("a cluster grows at once to what the load needs, when it has needed it for upAfter", () => {
  const rig = new Rig().run(10, 122);
  assert.deepEqual(rig.decisions, []);
  assert.equal(rig.outcome.desired, 4);
  rig.run(1, 122);
  assert.deepEqual(rig.decisions, ["10: 2 -> 4"]);
  assert.deepEqual(rig.outcome.decision?.reason, {
    kind: "load",
    target: { name: "connections", limit: 40 },
    load: 61,
    forMs: 10_000,
  });
});

test("one second of less load begins the time again", () => {
  assert.deepEqual(new Rig().run(9, 122).run(1, 70).run(9, 122).decisions, []);
});

test("it grows to the least that was needed in that time, not to a peak", () => {
  assert.deepEqual(new Rig().run(5, 300).run(6, 100).decisions, ["10: 2 -> 3"]);
});

test("it shrinks to the most that was needed throughout downAfter", () => {
  const rig = new Rig({}, 8).run(100, 60).run(1, 150).run(199, 60);
  assert.deepEqual(rig.decisions, []);
  assert.deepEqual(rig.run(301, 60).decisions, ["300: 8 -> 5", "600: 5 -> 2"]);
});

test("without targets the minimum is the number, at once", () => {
  const rig = new Rig({ targets: [] }, 5).run(2, 500);
  assert.deepEqual(rig.decisions, ["0: 5 -> 2"]);
  rig.policy = { ...rig.policy, min: 4 };
  assert.deepEqual(rig.run(2, 0).decisions, ["0: 5 -> 2", "2: 2 -> 4"]);
});

test("a load between the two needs changes nothing: after growth it is no reason to shrink", () => {
  // 3 instances by 40 each; 4 by 32 each.
  assert.deepEqual(new Rig({}, 3).run(2_000, 115).decisions, []);
  assert.deepEqual(new Rig({}, 4).run(2_000, 115).decisions, []);
});

test("step limits each decision, and each waits for the time again", () => {
  assert.deepEqual(new Rig({ step: 1 }).run(31, 200).decisions, ["10: 2 -> 3", "20: 3 -> 4", "30: 4 -> 5"]);
  assert.deepEqual(new Rig({ step: 2 }, 7).run(700, 10).decisions, ["300: 7 -> 5", "600: 5 -> 3"]);
});

test("of several targets the largest need wins", () => {
  const policy = {
    targets: [
      { name: "connections", limit: 40 },
      { name: "cpu", limit: 70 },
    ],
  };
  const loads = new Map([
    ["connections", 10],
    ["cpu", 190],
  ]);
  const rig = new Rig(policy).run(11, 0, { loads });
  assert.deepEqual(rig.decisions, ["10: 2 -> 3"]);
  assert.equal(rig.outcome.decision?.reason.kind === "load" && rig.outcome.decision.reason.target.name, "cpu");
});

test("while a load is not known, the cluster does not shrink, but grows by the others", () => {
  const policy = {
    targets: [
      { name: "connections", limit: 40 },
      { name: "metric:queue", limit: 100 },
    ],
  };
  assert.deepEqual(new Rig(policy, 6).run(1_000, 10).decisions, []);
  assert.deepEqual(new Rig(policy).run(11, 100).decisions, ["10: 2 -> 3"]);
  assert.deepEqual(new Rig().run(1_000, undefined).decisions, []);
});

test("without an instance that serves, nothing is decided", () => {
  assert.deepEqual(new Rig({}, 4).run(1_000, 500, { serving: 0 }).decisions, []);
});

test("instances that are being started count: the same load does not ask for more", () => {
  const rig = new Rig().run(11, 122);
  assert.deepEqual(rig.run(60, 122, { serving: 2 }).decisions, ["10: 2 -> 4"]);
});

test("clients that wait ask for the instances that take them", () => {
  const policy = { targets: [{ name: "waiting", limit: 1, capacity: 20 }] };
  const waiting = (clients: number, connections: number): Partial<ScaleSample> => ({
    loads: new Map([
      ["waiting", clients],
      ["connections", connections],
    ]),
  });
  assert.deepEqual(new Rig(policy).run(11, 0, waiting(55, 40)).decisions, ["10: 2 -> 5"]);
  assert.deepEqual(new Rig(policy).run(11, 0, waiting(2, 38)).decisions, ["10: 2 -> 3"], "at least one");
  assert.deepEqual(new Rig(policy).run(11, 0, waiting(1, 40)).decisions, [], "not more than the limit");
  assert.deepEqual(new Rig(policy, 4).run(30, 0, { ...waiting(10, 40), serving: 2 }).decisions, [], "two more start");
  assert.deepEqual(new Rig(policy, 6).run(301, 0, waiting(0, 40)).decisions, ["300: 6 -> 3"]);
});

test("at its maximum it refuses to grow, and says what it would need", () => {
  const rig = new Rig({}, 8).run(11, 500);
  assert.deepEqual(rig.decisions, []);
  assert.equal(rig.outcome.refusal?.kind, "max");
  assert.equal(rig.outcome.refusal?.wanted, 13);
  assert.equal(rig.outcome.desired, 8);
});

test("it grows as far as memory allows, and then refuses", () => {
  const memory = { freeBytes: 250, instanceBytes: 100 };
  const rig = new Rig().run(11, 320, { memory });
  assert.deepEqual(rig.decisions, ["10: 2 -> 4"]);
  rig.run(11, 320, { memory, serving: 2 });
  assert.deepEqual(rig.decisions, ["10: 2 -> 4"], "those that start have yet to take their memory");
  assert.equal(rig.outcome.refusal?.kind, "memory");
  assert.equal(rig.outcome.refusal?.wanted, 8);
});

test("a crash-looping instance is no reason to add more; once it stays up, the time begins again", () => {
  const failing = { failing: "web-2" };
  const rig = new Rig().run(30, 122, failing);
  assert.deepEqual(rig.decisions, []);
  assert.equal(rig.outcome.refusal?.kind, "failing");
  rig.run(10, 122);
  assert.deepEqual(rig.decisions, []);
  rig.run(1, 122);
  assert.deepEqual(rig.decisions, ["40: 2 -> 4"]);
});

test("other bounds apply at once, as far as memory allows", () => {
  const rig = new Rig().run(5, 40);
  rig.policy = { ...POLICY, min: 4 };
  rig.run(1, 40);
  rig.policy = { ...POLICY, max: 3 };
  rig.run(1, 40);
  assert.deepEqual(rig.decisions, ["5: 2 -> 4", "6: 4 -> 3"]);
  rig.policy = { ...POLICY, min: 6 };
  rig.run(1, 40, { memory: { freeBytes: 250, instanceBytes: 100 } });
  assert.deepEqual(rig.decisions.at(-1), "7: 3 -> 5");
});

test("after a time without samples, those before it count no more", () => {
  const rig = new Rig().run(9, 122);
  rig.second += 20;
  assert.deepEqual(rig.run(10, 122).decisions, []);
});
