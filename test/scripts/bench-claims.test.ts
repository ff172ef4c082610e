/** What pages claim of procman's speed is compared with what was measured. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLAIMS } from "../../bench/plan.mjs";
import { wrongClaims } from "../../bench/report.mjs";

const MEASURED = { n: 3, min: 90, median: 100, max: 110 };

/** Results in which each figure that a page claims is 100 in the unit of the claim. */
const results = {
  scenarios: Object.fromEntries(
    CLAIMS.map(({ from }) => [
      from,
      {
        procman: Object.fromEntries(
          CLAIMS.filter((claim) => claim.from === from).map(({ metric, scale = 1 }) => [
            metric,
            { ...MEASURED, median: 100 / scale },
          ]),
        ),
      },
    ]),
  ),
};

const pages =
  (figure: string) =>
  (page: string): string =>
    CLAIMS.filter((claim) => claim.page === page)
      .map(({ text }) => text.replace("{}", figure))
      .join("\n");

test("a claim may be a tenth better than what was measured, and any amount worse", () => {
  assert.deepEqual(wrongClaims(results, pages("100")), []);
  for (const { isLow = false } of CLAIMS) {
    const wrong = wrongClaims(results, pages(isLow ? "89" : "111"));
    assert.equal(wrong.length, CLAIMS.filter((claim) => (claim.isLow ?? false) === isLow).length);
    assert.match(wrong[0] ?? "", /: measured is 100 \(bench\/results\.json\)$/);
  }
});

test("a page that has another sentence, and a figure that wasn't measured, are named", () => {
  const reworded = wrongClaims(results, () => "It is fast.");
  assert.deepEqual(
    [reworded.length, /it doesn't say ".*\{\}.*" any more/.test(reworded[0] ?? "")],
    [CLAIMS.length, true],
  );
  const unmeasured = wrongClaims({ scenarios: {} }, pages("100"));
  assert.match(unmeasured[0] ?? "", /bench\/results\.json has no 03-crash-recovery\/c recoverMs/);
});
