/** Rollouts over hosts that are killed, refuse and fail at any moment: the plan with the machine of the hosts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RolloutStep } from "../../core/contract/rollout-record.ts";
import { afterStep, carriedOut, type HostRolloutState } from "../../core/releases/rollout-machine.ts";
import { type HostDeed, type HostState, nextDeeds, type RolloutEnd, type RolloutLimits } from "./rollout-plan.ts";

/** What is the case on a host, whenever it is tried. */
type Nature = {
  readonly drains: boolean;
  readonly works: boolean;
  readonly leaves: boolean;
  readonly goesBack: boolean;
};

const STEP: Readonly<Partial<Record<HostDeed, RolloutStep["step"]>>> = {
  drain: "drain",
  undrain: "undrain",
  run: "run",
  "back-drain": "back-drain",
  "back-run": "back-run",
};

/** Hosts, and what is observed of them. */
class World {
  readonly limits: RolloutLimits;
  readonly natures: ReadonlyMap<string, Nature>;
  readonly states: Map<string, HostRolloutState>;
  readonly log: string[] = [];
  mostAtOnce = 0;

  constructor(limits: RolloutLimits, natures: readonly Nature[]) {
    this.limits = limits;
    this.natures = new Map(limits.hosts.map((host, index) => [host, natures[index] as Nature]));
    this.states = new Map(limits.hosts.map((host) => [host, { phase: "waiting" }]));
  }

  #step(host: string, step: RolloutStep["step"], problem?: string): void {
    const state = this.states.get(host) as HostRolloutState;
    const next = afterStep(state, { step, ...(problem !== undefined && { problem }) }, this.limits.drains === true);
    assert.ok(next, `${host}: ${step} in ${state.phase}`);
    this.states.set(host, next.state);
    if (next.runs !== undefined) this.log.push(`${next.runs} ${host}`);
    const busy = [...this.states.values()].filter(({ phase }) => /ing$/.test(phase) && phase !== "waiting").length;
    this.mostAtOnce = Math.max(this.mostAtOnce, busy);
  }

  /** A deed up to its first effect, or to its end. */
  do(host: string, deed: HostDeed): void {
    const state = this.states.get(host) as HostRolloutState;
    const { drains, works, leaves, goesBack } = this.natures.get(host) as Nature;
    const isBack = state.phase.startsWith("back-");
    const step = STEP[deed];
    if (step !== undefined) return this.#step(host, step);
    if (deed === "ready") return this.#step(host, "ready");
    if (deed === "drained" && isBack) return this.#step(host, "back-run");
    if (deed === "drained") return drains ? this.#step(host, "run") : this.#step(host, "fail", "no drain");
    const problem = (isBack ? goesBack : works) ? undefined : "it failed";
    const changed = !isBack && (works || leaves);
    const outcome = { ...(problem !== undefined && { problem }), changed };
    this.states.set(host, carriedOut(state, outcome, this.limits.drains === true));
  }

  /** Until it is over; `choose`: which of the possible deeds comes next. Each is as if a new client did it. */
  run(choose: (count: number) => number): RolloutEnd {
    for (let count = 0; count < 1_000; count += 1) {
      const { deeds, end } = nextDeeds(this.limits, this.states as ReadonlyMap<string, HostState>);
      if (end !== undefined) return end;
      const possible = [...deeds];
      const [host, deed] = possible[choose(possible.length) % possible.length] as [string, HostDeed];
      this.do(host, deed);
    }
    return assert.fail("it is never over");
  }
}

const nature = fc.record({ drains: mostly(), works: mostly(), leaves: fc.boolean(), goesBack: mostly() });

function mostly(): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 3 }).map((number) => number > 0);
}

const rollout = fc
  .record({
    natures: fc.array(nature, { minLength: 1, maxLength: 6 }),
    batch: fc.integer({ min: 1, max: 3 }),
    maxFailed: fc.integer({ min: 0, max: 2 }),
    onFailure: fc.constantFrom("stop" as const, "rollback" as const),
    drains: fc.boolean(),
    choices: fc.array(fc.nat(7), { minLength: 1, maxLength: 40 }),
  })
  .map(({ natures, drains, choices, ...limits }) => ({
    natures,
    choices,
    limits: { ...limits, hosts: natures.map((_, index) => `h${index}`), ...(drains && { drains: true as const }) },
  }));

test("a rollout keeps to its batch and its limit, and goes back over what has changed, in reverse", () => {
  fc.assert(
    fc.property(rollout, ({ natures, choices, limits }) => {
      const world = new World(limits, natures);
      let at = 0;
      const end = world.run(() => choices[at++ % choices.length] ?? 0);
      assert.ok(world.mostAtOnce <= limits.batch, `${world.mostAtOnce} at once`);
      const forward = world.log.flatMap((line) => (line.startsWith("forward") ? [line.slice(8)] : []));
      const back = world.log.flatMap((line) => (line.startsWith("back") ? [line.slice(5)] : []));
      assert.equal(new Set(forward).size, forward.length, "no host is changed twice");
      const failed = limits.hosts.filter(
        (_, index) => !natures[index]?.works || (limits.drains && !natures[index]?.drains),
      );
      const begunFailures = failed.filter((host) => world.states.get(host)?.phase !== "waiting");
      assert.ok(begunFailures.length <= limits.maxFailed + limits.batch, "it stops soon after the limit");
      const mustStop = begunFailures.length > limits.maxFailed;
      if (!mustStop) assert.equal(end, "done");
      if (limits.onFailure === "stop" || !mustStop) assert.deepEqual(back, []);
      else {
        const changed = limits.hosts.filter((host, index) => {
          const { works, leaves } = natures[index] as Nature;
          return forward.includes(host) && (works || leaves);
        });
        if (limits.batch === 1) assert.deepEqual(back, [...changed].reverse());
        else assert.deepEqual([...back].sort(), changed);
        const stuck = changed.filter((host) => world.natures.get(host)?.goesBack === false);
        assert.equal(end, stuck.length > 0 ? "stopped" : "taken-back");
      }
    }),
    { numRuns: 2_000 },
  );
});

test("with one host at a time, any order of events ends in the same", () => {
  fc.assert(
    fc.property(rollout, ({ natures, choices, limits }) => {
      const one = { ...limits, batch: 1 };
      const [first, second] = [new World(one, natures), new World(one, natures)];
      let at = 0;
      const ends = [first.run(() => 0), second.run(() => choices[at++ % choices.length] ?? 0)];
      assert.equal(ends[0], ends[1]);
      assert.deepEqual([...first.states], [...second.states]);
      assert.deepEqual(nextDeeds(one, first.states as ReadonlyMap<string, HostState>).end, ends[0]);
    }),
  );
});

test("a host that is lost counts as failed; the way back leaves it out, and doesn't count as whole", () => {
  const limits = { hosts: ["a", "b", "c"], batch: 1, maxFailed: 0, onFailure: "rollback" } as const;
  const states = new Map<string, HostState>([
    ["a", { phase: "done", changed: true }],
    ["b", "lost"],
    ["c", { phase: "waiting" }],
  ]);
  assert.deepEqual([...nextDeeds(limits, states).deeds], [["a", "back-run"]]);
  states.set("a", { phase: "taken-back", back: true });
  assert.equal(nextDeeds(limits, states).end, "stopped");
  assert.deepEqual(
    [
      ...nextDeeds({ ...limits, maxFailed: 1, onFailure: "stop" }, new Map([...states, ["a", { phase: "done" }]]))
        .deeds,
    ],
    [["c", "run"]],
  );
});

test("an abort finishes what is under way, and undrains what has not changed", () => {
  const limits = { hosts: ["a", "b", "c"], batch: 2, maxFailed: 0, onFailure: "stop", drains: true } as const;
  const states = new Map<string, HostState>([
    ["a", { phase: "running", aborted: true }],
    ["b", { phase: "draining" }],
    ["c", { phase: "waiting" }],
  ]);
  assert.deepEqual(
    [...nextDeeds(limits, states).deeds],
    [
      ["a", "watch"],
      ["b", "undrain"],
    ],
  );
  states.set("a", { phase: "done", changed: true, aborted: true });
  states.set("b", { phase: "waiting" });
  assert.equal(nextDeeds(limits, states).end, "stopped");
  assert.deepEqual([...nextDeeds({ ...limits, onFailure: "rollback" }, states).deeds], [["a", "back-drain"]]);
});

test("an abort takes nothing back any more when a host was let go with its change", () => {
  const limits: RolloutLimits = { hosts: ["a", "b"], batch: 1, maxFailed: 0, onFailure: "rollback" };
  const done = { phase: "done", changed: true } as const;
  const states = (a: HostState): ReadonlyMap<string, HostState> =>
    new Map([
      ["a", a],
      ["b", { ...done, aborted: true }],
    ]);
  assert.deepEqual([...nextDeeds(limits, states(done)).deeds], [["b", "back-run"]]);
  assert.deepEqual(nextDeeds(limits, states({ ...done, ended: "2026-11-28T03:15:02.120Z" })).end, "stopped");
});
