/** Writes the table of the simulation into docs/guide/autoscale.md. With --check: fails when it is not up to date. */
import { CURVES } from "../src/core/autoscale/load-curves.ts";
import { SIMULATED, simulate } from "../src/core/autoscale/simulation.ts";
import { inPage, tableOf, writeMade } from "./made-parts.ts";

const SCRIPT = "scripts/autoscale.ts";

const HEAD = [
  "load",
  "decisions an hour",
  "turns an hour",
  "waited",
  "longest wait",
  "most instances",
  "cost",
  `cost of ${SIMULATED.policy.max} always`,
];

function rows(): readonly (readonly string[])[] {
  return CURVES.map((curve) => {
    const { decisionsAnHour, turnsAnHour, waited, longestWait, most, cost, costOfMost } = simulate(curve, SIMULATED);
    return [
      curve.name,
      decisionsAnHour.toFixed(1),
      turnsAnHour.toFixed(1),
      `${(100 * waited).toFixed(2)} %`,
      `${longestWait} s`,
      String(most),
      cost.toFixed(2),
      costOfMost.toFixed(2),
    ];
  });
}

writeMade(SCRIPT, { "docs/guide/autoscale.md": inPage(SCRIPT, tableOf(HEAD, rows())) });
