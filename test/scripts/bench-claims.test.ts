/** What pages claim of procman's speed is compared with what was measured; the page says where procman is behind, and when the machine was busy. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CLAIMS } from "../../bench/plan.mjs";
import { files, unfit, wrongClaims } from "../../bench/report.mjs";

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

const one = (value: number): object => ({ n: 1, min: value, median: value, max: value });

type Results = { readonly machine: object; readonly measured: object; readonly scenarios: object };

/** `07-status` and `05-logs` with these figures of the machine before the runs of the first. */
function measuredOn(before: object): Results {
  return {
    machine: {
      cpus: 2,
      model: "X",
      memory: "1 GiB",
      kernel: "6",
      node: "20",
      open: 1,
      versions: {},
      calibration: one(50),
    },
    measured: { "07-status": { date: "2026-11-27", commit: "abc" } },
    scenarios: {
      "07-status/200": {
        procman: { statusMs: one(80), ...before },
        pm2: { statusMs: one(200) },
        s6: { statusMs: one(5) },
      },
      "05-logs/one-plain": { procman: { mbPerSec: one(440), calibMs: one(50), busyPercent: one(1) } },
    },
  };
}
const pageOf = (results: Results): string => files(results)["docs/design/benchmarks.md"] ?? "";

test("a scenario whose runs began on a busy machine is marked in the page as not fit for publication", () => {
  const quiet = measuredOn({ calibMs: one(51), busyPercent: one(3) });
  assert.deepEqual(unfit(quiet), []);
  assert.doesNotMatch(pageOf(quiet), /Not fit|busy machine/);
  for (const before of [
    { calibMs: one(80), busyPercent: one(3) },
    { calibMs: one(51), busyPercent: one(40) },
  ]) {
    const busy = measuredOn(before);
    assert.deepEqual(unfit(busy), ["07-status"]);
    assert.match(pageOf(busy), /\*\*Not fit for publication\*\*: other work ran on the machine during 07-status\./);
    assert.match(pageOf(busy), /^\| the status command, .*`07-status` \(busy machine\) \|$/m);
    assert.match(pageOf(busy), /^\| log of one process, .*`05-logs` \|$/m);
  }
});

test("the page begins with the rows in which a peer is better by more than a tenth", () => {
  const behind = /## Where procman is behind\n\n.*\n\n((?:- .*\n)+)/.exec(pageOf(measuredOn({})))?.[1];
  assert.equal(behind, "- the status command, 200 processes: procman 80 ms; s6 5\n");
});
