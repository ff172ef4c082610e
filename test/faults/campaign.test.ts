/**
 * A campaign with the same seed each time, so that a change of the source is what changes its outcome; others in
 * `test/long`.
 * `PROCMAN_FAULT_SEED` takes another one; `PROCMAN_FAULT_MINUTES` continues with new seeds for that time.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resultOf, testCampaign } from "./campaign/campaign-test.ts";

const { PROCMAN_FAULT_SEED, PROCMAN_FAULT_MINUTES } = process.env;

const SEED = 27;
const random = (): number => Math.floor(Math.random() * 1e9);

testCampaign(Number(PROCMAN_FAULT_SEED ?? SEED));

if (PROCMAN_FAULT_MINUTES !== undefined)
  test("for the requested time: one random seed after another", async (context) => {
    for (const end = performance.now() + Number(PROCMAN_FAULT_MINUTES) * 60_000; performance.now() < end; )
      assert.deepEqual((await resultOf(context, random())).findings, []);
  });
