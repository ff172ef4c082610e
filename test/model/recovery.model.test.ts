/** Service and keeper die at every step of every transition: the real supervisor goes on where it was. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Plan } from "../../src/supervisor/plan.ts";
import type { Policy } from "../../src/supervisor/restart-policy.ts";
import { World } from "./recovery.ts";

const policy: Policy = {
  restart: "always",
  restartDelayMs: 10,
  restartLimit: Number.POSITIVE_INFINITY,
  restartResetMs: 60_000,
  graceMs: 0,
  terminateMs: 30_000,
  timeoutMs: 0,
  waits: false,
};
/** Whoever is not quiet after so many steps never will be. */
const QUIET_STEPS = 60;

type Bounds = World["budget"];

function worldAt(path: readonly string[], plan: Plan, bounds: Bounds): World {
  const world = new World(plan, bounds);
  for (const move of path) world.do(move);
  return world;
}

function settle(world: World, told: () => string): void {
  for (let steps = 0; ; steps += 1) {
    assert.equal(world.problem(), undefined, told());
    const move = world.settling();
    if (move === undefined) break;
    assert.ok(steps < QUIET_STEPS, `never quiet: ${told()}`);
    world.do(move);
  }
  const unsettled = world.unsettled();
  assert.equal(unsettled, undefined, `${unsettled}: ${told()}`);
}

/** All states that can be reached; from each, what happens by itself ends well. */
function walk(plan: Plan, bounds: Bounds): number {
  const seen = new Set<string>();
  const queue: (readonly string[])[] = [[]];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    const here = path;
    const world = worldAt(here, plan, bounds);
    const told = (): string => here.join(", ");
    assert.equal(world.problem(), undefined, told());
    const { fingerprint } = world;
    if (seen.has(fingerprint)) continue;
    seen.add(fingerprint);
    for (const move of world.moves()) queue.push([...here, move]);
    settle(world, told);
  }
  return seen.size;
}

const planOf = (more: Partial<Plan>, rules: Partial<Policy> = {}): Plan => ({
  id: "web",
  policy: { ...policy, ...rules },
  autostart: true,
  overrun: false,
  ...more,
});

const cases = {
  s0: [planOf({}), { commands: 0, exits: 2, failures: 1, services: 1, keepers: 0 }],
  s1: [planOf({}), { commands: 1, exits: 1, failures: 0, services: 1, keepers: 0 }],
  k0: [planOf({}), { commands: 0, exits: 1, failures: 1, services: 0, keepers: 1 }],
  k1: [planOf({}), { commands: 1, exits: 1, failures: 0, services: 0, keepers: 1 }],
  k1n: [planOf({ autostart: false }, { restart: "never" }), { commands: 2, exits: 0, failures: 0, services: 0, keepers: 1 }],
  s1n: [planOf({ autostart: false }, { restart: "never" }), { commands: 2, exits: 0, failures: 0, services: 1, keepers: 0 }],
  sk: [planOf({}, { restart: "error", restartDelayMs: 0 }), { commands: 0, exits: 1, failures: 0, services: 1, keepers: 1 }],
  s2: [planOf({}, { restart: "error", restartDelayMs: 0 }), { commands: 0, exits: 1, failures: 0, services: 2, keepers: 0 }],
  g: [planOf({}, { graceMs: 5 }), { commands: 1, exits: 0, failures: 0, services: 1, keepers: 0 }],
} as const;
for (const [name, [plan, bounds]] of Object.entries(cases))
  test(name, { skip: process.env.ONLY !== undefined && process.env.ONLY !== name }, () => {
    const start = performance.now();
    const states = walk(plan, bounds);
    console.log(name, states, performance.now() - start);
  });
