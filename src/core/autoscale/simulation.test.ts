import assert from "node:assert/strict";
import { test } from "node:test";
import { CURVES } from "./load-curves.ts";
import { SIMULATED, simulate } from "./simulation.ts";

/** No controller can help clients that come for 5 s, while an instance takes 5 s to start. */
const TOO_SHORT = "short peaks";

for (const curve of CURVES)
  test(`${curve.name}: few decisions, no oscillation, little waiting, at little cost`, () => {
    const found = simulate(curve, SIMULATED);
    const { decisionsAnHour, turnsAnHour, shortestTurn = Number.POSITIVE_INFINITY } = found;
    assert.ok(decisionsAnHour <= 13, `${decisionsAnHour} decisions an hour`);
    assert.ok(turnsAnHour <= 6, `${turnsAnHour} turns an hour`);
    assert.ok(shortestTurn >= 60, `a turn after ${shortestTurn} s`);
    assert.ok(found.waited <= (curve.name === TOO_SHORT ? 0.05 : 0.005), `${found.waited} waited`);
    assert.ok(found.longestWait <= 45, `waited for ${found.longestWait} s`);
    assert.ok(found.cost <= 1.4 && found.cost < found.costOfMost, `costs ${found.cost}`);
  });

test("the simulation finds a controller that follows each second: it oscillates", () => {
  const hasty = { ...SIMULATED, policy: { ...SIMULATED.policy, upAfterMs: 0, downAfterMs: 0 } };
  const [, noise, , , , , , , , recorded] = CURVES.map((curve) => simulate(curve, hasty));
  assert.ok((noise?.turnsAnHour ?? 0) > 100, `${noise?.turnsAnHour} turns an hour`);
  assert.ok((recorded?.turnsAnHour ?? 0) > 20, `${recorded?.turnsAnHour} turns an hour`);
});

test("the simulation finds a cluster that is too small: clients wait", () => {
  const small = { ...SIMULATED, policy: { ...SIMULATED.policy, max: 2 } };
  for (const curve of CURVES.filter(({ name }) => name === "step" || name === "day"))
    assert.ok(simulate(curve, small).waited > 0.1, curve.name);
});
